"""A GPU resumes from the checkpoint of a GPU or CPU, and a CPU from that of a GPU."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet
from noiselimit.runs.spec import grid
from noiselimit.training import train
from tests.engine.interrupting import train_interrupted

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.mark.parametrize("graphs", ["on", "off"])
@pytest.mark.parametrize(("before", "after"), [("cuda", "cuda"), ("cpu", "cuda"), ("cuda", "cpu")])
def test_it_ends_as_if_never_interrupted_but_for_rounding(
    tiny_images: DataSet, tmp_path: Path, before: str, after: str, graphs: str
) -> None:
    """Low rates keep rounding errors small; one row ends early, so that graphs are recorded again."""
    shared = {"noise": "uniform:0.4", "batch_size": 17, "network": "small-cnn", "dropout": 0.1}
    specs = grid(method=["ce", "limit-l", "limit-g+s", "fw"], beta=[3], sigma=[0.1], epochs=6, **shared)
    specs += grid(method="limit-l", seed=1, epochs=2, **shared)
    specs = [replace(spec, learning_rate=1e-5, precision="float32") for spec in specs]

    def how(device: str) -> dict[str, Any]:
        way = graphs if device == "cuda" else "auto"
        return {"device": device, "graphs": way, "threads": 1, "averaged": True}

    undisturbed = train(specs, tiny_images, **how(after))
    broken, _ = train_interrupted(specs, tiny_images, tmp_path, after=18, **how(before))
    assert not broken
    runs, warned = train_interrupted(specs, tiny_images, tmp_path, 10**9, **how(after))
    assert any("from epoch" in sentence for sentence in warned)
    for one, other in zip(undisturbed, runs, strict=True):
        assert [record["epoch"] for record in one.history] == [record["epoch"] for record in other.history]
        for first, second in zip(one.history, other.history, strict=True):
            assert second["train_loss"] == pytest.approx(first["train_loss"], abs=1e-3)
        for name, tensor in one.weights.classifier.items():
            np.testing.assert_allclose(other.weights.classifier[name], tensor, atol=1e-3)
        np.testing.assert_allclose(other.averaged.classifier, one.averaged.classifier, atol=2e-3)
