"""Supplement: norm of the predicted gradient, and gap, of examples with right and with wrong labels."""

from collections.abc import Sequence

from noiselimit.report.histogram import Bars, histogram
from noiselimit.report.panels import panels
from noiselimit.reproduce.figures.best_limit import limit_cells
from noiselimit.reproduce.figures.figure import Figure, tasks_of, wanted_by
from noiselimit.reproduce.figures.histograms import BINS, KIND, SPAN, Counts, as_values, read_histograms
from noiselimit.reproduce.figures.kept import Kept, best


def _chart(counts: Counts, what: str) -> str:
    bars = [
        Bars("right labels", as_values(counts[0]), "right"),
        Bars("wrong labels", as_values(counts[1]), "wrong"),
    ]
    return histogram(
        bars,
        title=what,
        x_label=what,
        y_label="training examples",
        span=SPAN,
        bins=BINS,
        log=True,  # nine of ten examples may be in one bin, and how far the others overlap is the question
        standalone=True,
    )


def _draw(kept: Sequence[Kept]) -> str | None:
    one = best(kept)
    if one is None:
        return None
    found = read_histograms(one)
    charts = [_chart(found.norms, "norm of the predicted gradient"), _chart(found.gaps, "gap")]
    return panels(charts, title="Predicted gradients of examples with right and wrong labels")


def _caption(kept: Sequence[Kept]) -> str:
    one = best(kept)
    assert one is not None
    row = one.row
    area = (
        ""
        if row.gap_auc is None
        else f" The gap tells wrong labels from right ones with a ROC AUC of {row.gap_auc:.4f}."
    )
    return (
        f"{row.method} {row.hyper} ({row.network}, seed {row.seed}, best of {row.epochs_run} epochs: "
        f"{row.best_epoch}), the highest noisy-validation accuracy of {len(kept)} runs of this seed"
        f"{_cut_words(kept, row.epochs)}; its test accuracy is {100 * (row.test_accuracy or 0):.1f} %.{area} "
        "Counts are on a logarithmic axis, each kind from its foot."
    )


def _cut_words(kept: Sequence[Kept], epochs: int) -> str:
    """How many runs had to end before so many epochs: more of them might have made one of these the best."""
    rows = [one.row for one in kept]
    cut = sorted(row.epochs for row in rows if row.epochs < epochs and not row.is_exhausted)
    if not cut:
        return ""
    span = f"{cut[0]}" if cut[0] == cut[-1] else f"{cut[0]} to {cut[-1]}"
    return f", {len(cut)} of them of {span} {'epoch' if span == '1' else 'epochs'}"


def _figure(name: str, title: str, data: str, noise: str, p: float, n: int) -> Figure:
    cells = limit_cells(data, noise, p, n)
    return Figure(
        name=f"histograms-{name}",
        title=f"Predicted gradients and gaps, {title}",
        place="Supplement (fig:grad-norm-hist, fig:grad-diff-hist) of the paper",
        data=data,
        kind=KIND,
        wants=wanted_by(cells),
        tasks=lambda protocol: tasks_of(cells[:1], protocol),
        draw=_draw,
        caption=_caption,
    )


GAP_HISTOGRAMS = (
    _figure("mnist", "MNIST with 80 % uniform noise", "mnist", "uniform", 0.8, 48_000),
    _figure("cifar10-uniform", "CIFAR-10 with 40 % uniform noise", "cifar10", "uniform", 0.4, 40_000),
    _figure("cifar10-pair", "CIFAR-10 with 40 % pair noise", "cifar10", "pair", 0.4, 40_000),
    _figure("cifar100", "CIFAR-100 with 40 % uniform noise", "cifar100", "uniform", 0.4, 40_000),
)
