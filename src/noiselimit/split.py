"""Divide examples into those that train, those that choose the epoch and β, and those that judge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.randomness import Stream, permutation

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of indices into the examples, each in the split's random order."""

    train: Indices
    validation: Indices
    test: Indices


def split_examples(
    count: int,
    seed: int,
    *,
    validation_share: float = 0.2,
    test_share: float = 0.0,
    train_size: int | None = None,
    validated_elsewhere: bool = False,
) -> Split:
    """Cut one random order of `count` examples into test, validation and training, in that order.

    `validation_share` is of what the test part leaves. Training sets of growing `train_size` contain each
    other, and neither the test nor the validation part depends on it. Where other examples validate, none of
    these need to.
    """
    for name, share in (("validation_share", validation_share), ("test_share", test_share)):
        if not 0 <= share < 1:
            raise InputError(f"{name} is {share}: give a fraction in [0, 1) such as 0.2.")
    tests = round(count * test_share)
    validations = round((count - tests) * validation_share)
    left = count - tests - validations
    if validations == 0 and not validated_elsewhere:
        raise InputError(
            f"validation_share is {validation_share}, which takes none of {count - tests} examples: "
            "raise it or give more examples."
        )
    if left < 2:
        raise InputError(
            f"validation_share is {validation_share}, which leaves {left} of {count} examples for training: "
            "lower it or test_share, or give more examples."
        )
    size = left if train_size is None else train_size
    if not 2 <= size <= left:
        raise InputError(
            f"train_size is {train_size}, but {left} examples are left for training: choose 2 to {left}."
        )
    order = permutation(seed, Stream.SPLIT, 0, count)
    test, validation, rest = np.split(order, [tests, tests + validations])
    return Split(train=rest[:size], validation=validation, test=test)
