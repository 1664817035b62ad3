"""Splits are disjoint, nested and complete; noise spares the test part; statistics are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet
from noiselimit.engine.preparation import (
    picture_statistics,
    prepare,
    prepare_all,
    split_examples,
    statistics,
)
from noiselimit.errors import InputError
from noiselimit.noise import parse_noise
from noiselimit.runs.spec import RunSpec


@given(
    count=st.integers(20, 500),
    seed=st.integers(0, 2**40),
    validation_share=st.floats(0.1, 0.5),
    test_share=st.floats(0, 0.5),
    data=st.data(),
)
def test_splits(
    count: int, seed: int, validation_share: float, test_share: float, data: st.DataObject
) -> None:
    shares = {"validation_share": validation_share, "test_share": test_share}
    split = split_examples(count, seed, **shares)
    assert len(split.test) == round(count * test_share)
    assert len(split.validation) == round((count - len(split.test)) * validation_share)
    together = np.concatenate([split.train, split.validation, split.test])
    assert sorted(together.tolist()) == list(range(count))
    size = data.draw(st.integers(2, len(split.train)))
    smaller = split_examples(count, seed, train_size=size, **shares)
    assert np.array_equal(smaller.train, split.train[:size])
    assert np.array_equal(smaller.validation, split.validation)
    assert np.array_equal(smaller.test, split.test)
    assert not np.array_equal(split.train, split_examples(count, seed + 1, **shares).train)


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (10, {"train_size": 9}),
        (10, {"train_size": 0}),
        (10, {"validation_share": 0.0}),
        (2, {"validation_share": 0.2}),
        (2, {"validation_share": 0.99}),
    ],
)
def test_impossible_splits(count: int, options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        split_examples(count, 0, **options)


def test_noise_spares_the_test_part(blobs: DataSet) -> None:
    run = prepare(RunSpec(noise=parse_noise("uniform:1")), blobs)
    wrong = run.examples.wrong
    assert wrong[run.split.train].all()
    assert wrong[run.split.validation].all()
    assert not wrong[run.split.test].any()
    assert prepare(RunSpec(), blobs).examples.clean_labels is None


def test_runs_that_differ_only_in_method_share_their_preparation(blobs: DataSet) -> None:
    noise = parse_noise("uniform:0.5")
    specs = [RunSpec("ce", noise=noise), RunSpec("limit-l", noise=noise), RunSpec("ce", seed=1, noise=noise)]
    first, second, third = prepare_all(specs, blobs)
    assert first is second
    assert first is not third


def test_a_small_deviation_from_a_large_mean_survives_and_a_constant_divides_by_one() -> None:
    features = np.stack([np.float32(4096) + np.arange(8, dtype=np.float32) / 4, np.full(8, 7, np.float32)], 1)
    mean, std = statistics(features, np.arange(8))
    np.testing.assert_allclose(mean, features.mean(0))
    np.testing.assert_allclose(std, [(np.arange(8) / 4).std(), 1.0], rtol=1e-6)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_statistics_of_pictures(channels: int, side: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pictures = generator.integers(0, 256, (30, channels, side, side)).astype(np.uint8)
    pictures[:, 0] = 255  # a constant channel
    rows = generator.permutation(30)[:20].astype(np.int64)
    deviation = pictures[rows].std((0, 2, 3))
    for measure in (picture_statistics, statistics):
        mean, std = measure(pictures, rows)
        assert mean.shape == std.shape == (channels, 1, 1)
        np.testing.assert_allclose(mean.ravel(), pictures[rows].mean((0, 2, 3)), rtol=1e-6)
        np.testing.assert_allclose(std.ravel(), np.where(deviation, deviation, 1), rtol=1e-6)
