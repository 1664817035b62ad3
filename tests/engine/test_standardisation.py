import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.preparation import PictureSums, statistics


def test_statistics_are_those_of_the_training_examples_per_channel() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, size=(50, 3, 4, 4)).astype(np.uint8)
    rows = np.array([3, 1, 4, 15, 9, 26])
    mean, std = statistics(pictures, rows)
    assert mean.shape == std.shape == (3, 1, 1)
    np.testing.assert_allclose(mean.ravel(), pictures[rows].mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(std.ravel(), pictures[rows].std((0, 2, 3)), rtol=1e-6)


def test_a_small_deviation_from_a_large_mean_survives_and_a_constant_divides_by_one() -> None:
    features = np.stack([np.float32(4096) + np.arange(8, dtype=np.float32) / 4, np.full(8, 7, np.float32)], 1)
    _, std = statistics(features, np.arange(8))
    np.testing.assert_allclose(std, [(np.arange(8) / 4).std(), 1.0], rtol=1e-6)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sums_of_pictures_give_the_statistics_of_any_choice(channels: int, side: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    pictures = generator.integers(0, 256, (30, channels, side, side)).astype(np.uint8)
    pictures[:, 0] = 255  # a channel without deviation
    rows = generator.permutation(30)[:20].astype(np.int64)
    sums = PictureSums.of(pictures)
    assert sums is not None
    for quick, plain in zip(sums.statistics(rows), statistics(pictures, rows), strict=True):
        assert quick.shape == plain.shape
        np.testing.assert_allclose(quick, plain, rtol=1e-6)
    assert PictureSums.of(pictures.astype(np.float32)) is None
