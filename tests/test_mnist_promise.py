"""On MNIST with 80 % wrong labels LIMIT is far ahead of cross-entropy's last epoch, after eight epochs."""

import pytest

from noiselimit import InputError, grid, load_data, train

pytestmark = pytest.mark.slow


def test_limit_is_far_ahead_with_80_percent_wrong_labels() -> None:
    try:
        data = load_data("mnist")
    except InputError as reason:
        pytest.skip(str(reason))
    settings = {"noise": "uniform:0.8", "train_size": 10_000, "epochs": 8}
    baseline, limit = train(grid(method=["ce", "limit-l"], beta=1, **settings), data)
    assert limit.metrics["train_examples"] == 10_000
    assert limit.metrics["validation_examples"] == 12_000
    assert limit.metrics["test_accuracy"] > 0.65
    assert baseline.metrics["last_test_accuracy"] < 0.4
    assert limit.metrics["last_test_accuracy"] > baseline.metrics["last_test_accuracy"] + 0.3
