"""Add one step to the totals of its epoch, in one launch instead of about 35.

`EpochTotals.add` computes the same with torch. One program per row: a fixed order of summation, no atomics.
"""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from noiselimit.engine.kernels.launch import launch

# mypy: disable-error-code="no-untyped-def, untyped-decorator"


TILE = 2048
"""Logits that a program processes at a time: 8 per thread, so that float64 fits into registers."""


@triton.jit(do_not_specialize=["batch", "predictors"])
def _tally(
    loss_sum, correct_sum, wrong_sum, fitted_sum, unsure_sum, norm_sum, first_bad,
    losses, logits, predicted, labels, wrong, step, batch, predictors,
    classes: tl.constexpr, padded: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """One row; grid (rows,). `padded`: the next power of two of `classes`."""
    row = tl.program_id(0)
    column = tl.arange(0, padded)[None, :]
    is_class = column < classes
    correct = tl.zeros([block], tl.int32)
    seen_wrong = tl.zeros([block], tl.int32)
    fitted = tl.zeros([block], tl.int32)
    unsure = tl.zeros([block], tl.float64)
    norm = tl.zeros([block], tl.float64)
    for start in range(0, batch, block):
        example = start + tl.arange(0, block)
        inside = example < batch
        example += row.to(tl.int64) * batch
        at = example[:, None] * classes + column
        here = inside[:, None] & is_class
        # Padded classes have probability 0. Padded examples are zeros, to avoid arithmetic on infinities.
        a = tl.where(is_class, tl.load(logits + at, mask=here, other=0).to(tl.float32), float("-inf"))
        ranked = tl.where(a == a, a, float("inf"))  # NaN is the largest, as for torch.argmax
        top = tl.max(ranked, axis=1)
        guess = tl.min(tl.where(ranked == top[:, None], column, padded), axis=1)  # the first of equals
        hit = inside & (guess == tl.load(labels + example, mask=inside, other=-1))
        correct += hit.to(tl.int32)
        if wrong is not None:
            flag = inside & (tl.load(wrong + example, mask=inside, other=0) != 0)
            seen_wrong += flag.to(tl.int32)
            fitted += (hit & flag).to(tl.int32)
        if predicted is not None:  # noqa: SIM102 - known when compiling, unlike the next
            if row < predictors:
                e = tl.exp(a - top[:, None])
                r = tl.where(
                    is_class, tl.load(predicted + at, mask=here, other=0).to(tl.float64), float("-inf")
                )
                # float64: the entropy of a sure predictor is a small difference
                shifted = r - tl.max(r, axis=1)[:, None]
                q = tl.exp(shifted)
                total = tl.sum(q, axis=1)
                nats = tl.log(total) - tl.sum(q * tl.where(is_class, shifted, 0.0), axis=1) / total
                unsure += tl.where(inside, nats * 1.4426950408889634, 0.0)
                mu = e / tl.sum(e, axis=1)[:, None] - (q / total[:, None]).to(tl.float32)
                norm += tl.where(inside, tl.sum(mu * mu, axis=1), 0.0)
    loss = tl.load(losses + row).to(tl.float64)
    bad = tl.load(first_bad + row)
    new = (bad < 0) & ~(tl.abs(loss) < float("inf"))
    tl.store(first_bad + row, tl.where(new, tl.load(step), bad))
    tl.store(loss_sum + row, tl.load(loss_sum + row) + loss * batch)
    tl.store(correct_sum + row, tl.load(correct_sum + row) + tl.sum(correct))
    if wrong is not None:
        tl.store(wrong_sum + row, tl.load(wrong_sum + row) + tl.sum(seen_wrong))
        tl.store(fitted_sum + row, tl.load(fitted_sum + row) + tl.sum(fitted))
    if predicted is not None:  # noqa: SIM102
        if row < predictors:
            tl.store(unsure_sum + row, tl.load(unsure_sum + row) + tl.sum(unsure))
            tl.store(norm_sum + row, tl.load(norm_sum + row) + tl.sum(norm))


def tally(
    sums: Sequence[Tensor],
    losses: Tensor,
    logits: Tensor,
    predicted: Tensor | None,
    labels: Tensor,
    wrong: Tensor | None,
    step: Tensor,
) -> None:
    """Add a step to the sums [K] in place; they are the tensors of `EpochTotals` in its order.

    The step: losses [K]; logits [K, B, C]; predictor logits [P, B, C] of the first P rows; labels int64 and
    flags bool [K, B]; its number int64 [].
    """
    rows, batch, classes = logits.shape
    predictors = 0 if predicted is None else len(predicted)
    step_given = (losses, logits, predicted, labels, wrong, step)
    given = (None if tensor is None else tensor.contiguous() for tensor in step_given)
    padded = triton.next_power_of_2(classes)
    block = max(1, min(256, TILE // padded))
    sizes = {"classes": classes, "padded": padded, "block": block}
    launch(_tally, (rows,), *sums, *given, batch, predictors, **sizes, num_warps=8)
