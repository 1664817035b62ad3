"""Splits are disjoint, nested and complete."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError


@given(
    count=st.integers(20, 500),
    seed=st.integers(0, 2**40),
    validation_share=st.floats(0.1, 0.5),
    test_share=st.floats(0, 0.5),
)
def test_parts_are_disjoint_and_cover_everything(count, seed, validation_share, test_share):
    split = split_examples(count, seed, validation_share=validation_share, test_share=test_share)
    assert len(split.test) == round(count * test_share)
    assert len(split.validation) == round((count - len(split.test)) * validation_share)
    together = np.concatenate([split.train, split.validation, split.test])
    assert sorted(together.tolist()) == list(range(count))
    assert together.dtype == np.int64


@given(count=st.integers(20, 300), seed=st.integers(0, 2**40), data=st.data())
def test_smaller_training_sets_are_beginnings_of_larger_ones(count, seed, data):
    whole = split_examples(count, seed, test_share=0.25)
    size = data.draw(st.integers(2, len(whole.train)))
    part = split_examples(count, seed, test_share=0.25, train_size=size)
    assert np.array_equal(part.train, whole.train[:size])
    assert np.array_equal(part.validation, whole.validation)
    assert np.array_equal(part.test, whole.test)


def test_seeds_differ_and_repeat():
    assert np.array_equal(split_examples(100, 0).train, split_examples(100, 0).train)
    assert not np.array_equal(split_examples(100, 0).train, split_examples(100, 1).train)


@pytest.mark.parametrize(
    ("count", "options", "sentence"),
    [
        (10, {"validation_share": 1.0}, r"^validation_share is 1\.0: give a fraction in \[0, 1\)"),
        (10, {"validation_share": -0.1}, r"^validation_share is -0\.1: give"),
        (10, {"test_share": float("nan")}, r"^test_share is nan: give"),
        (10, {"train_size": 9}, "^train_size is 9, but 8 examples are left for training: choose 2 to 8"),
        (10, {"train_size": 0}, "^train_size is 0, but"),
        (10, {"validation_share": 0.0}, r"^validation_share is 0\.0, which takes none of 10 examples: raise"),
        (2, {}, r"^validation_share is 0\.2, which takes none of 2 examples: raise"),
        (
            2,
            {"validation_share": 0.99},
            r"^validation_share is 0\.99, which leaves 0 of 2 examples for training: lower",
        ),
    ],
)
def test_splits_that_cannot_be(count, options, sentence):
    with pytest.raises(InputError, match=sentence):
        split_examples(count, 0, **options)
