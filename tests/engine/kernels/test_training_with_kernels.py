"""A block trains with kernels as it trains without."""

from typing import Any

import pytest
import torch

from noiselimit.data.examples import DataSet
from noiselimit.engine import block_networks
from noiselimit.engine.backend import Backend
from noiselimit.engine.callbacks import Averages
from noiselimit.engine.cohort import CohortTrainer
from noiselimit.engine.layouts import looped, stacked
from noiselimit.engine.preparation import bind, prepare_all
from noiselimit.engine.results import RunResult
from noiselimit.runs.spec import grid


@pytest.mark.parametrize(("layout", "optimiser"), [(stacked, "adam"), (looped, "sgd")])
def test_training_with_kernels(
    tiny_images: DataSet, device: torch.device, monkeypatch: pytest.MonkeyPatch, layout: Any, optimiser: str
) -> None:
    monkeypatch.setattr(
        block_networks,
        "layout_for",
        lambda module, _, dtype, fused, stack: layout(module, dtype, fused=fused),
    )
    settings = {"network": "small-cnn", "augmentation": "flip-crop", "batch_size": 6, "noise": "uniform:0.4"}
    specs = grid(method=["limit-l", "ce"], epochs=1, optimiser=optimiser, train_size=12, **settings)
    specs = [bind(spec, tiny_images, "float32") for spec in specs]

    def trained(backend: Backend) -> dict[int, RunResult]:
        results: dict[int, RunResult] = {}
        CohortTrainer(
            specs,
            prepare_all(specs, tiny_images),
            [None, None],
            tiny_images,
            backend,
            on_epoch=lambda row, record: None,
            on_result=lambda result: results.update({result.row: result}),
            callback=Averages,
        ).train()
        return results

    plain, fused = trained(Backend(device)), trained(Backend(device, kernels=True))
    for row in range(2):
        for name, expected in plain[row].history[0].items():
            near = None if expected is None else pytest.approx(expected, rel=1e-3)
            assert fused[row].history[0][name] == near, name
        ours, theirs = (results[row].callback_result["train"].classifier for results in (fused, plain))
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
