"""Lightning: a callback for anybody's module, and a module of ours."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from noiselimit import InputError
from noiselimit.integrations.lightning import LimitCallback, LimitModule
from tests.integrations.test_torch import INPUTS, LABELS, WRONG, network

pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers", "ignore:.*LeafSpec")


class Own(LightningModule):
    """What a user has: its own loss, which LIMIT replaces, and its own optimiser."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network()

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        return nn.functional.cross_entropy(self(batch["x"]), batch["y"])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.5)


class Rows(TensorDataset):
    """Batches as dicts."""

    def __getitem__(self, index: int) -> dict[str, Tensor]:  # type: ignore[override]
        x, y, row = super().__getitem__(index)
        return {"x": x, "y": y, "row": row}


def fit(
    module: LightningModule, data: TensorDataset, epochs: int, *callbacks: LimitCallback, **more: Any
) -> Trainer:
    trainer = Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
    )
    torch.manual_seed(0)
    trainer.fit(module, DataLoader(data, 40, shuffle=True), **more)
    return trainer


def accuracy(module: LightningModule) -> float:
    return float(((module(INPUTS).argmax(1) == LABELS) | WRONG).float().mean())


def test_the_callback_trains_a_users_module_and_writes_its_label_issues(tmp_path: Path) -> None:
    limit = LimitCallback(
        beta=1.0, examples=240, write=tmp_path / "issues.csv", unpack=lambda b: (b["x"], b["y"], b["row"])
    )
    module = Own()
    before = [parameter.clone() for parameter in module.parameters()]
    trainer = fit(module, Rows(INPUTS, LABELS, torch.arange(240)), 25, limit)
    assert accuracy(module) > 0.97
    assert all(not torch.equal(*pair) for pair in zip(before, module.parameters(), strict=False))
    assert 0 <= float(trainer.callback_metrics["memorised_bits"]) < 0.3
    written = pd.read_csv(tmp_path / "issues.csv")
    assert (written["is_label_issue"].to_numpy() == WRONG.numpy()).mean() > 0.95


def test_the_module_trains_a_plain_network() -> None:
    module = LimitModule(network(), learning_rate=0.01, beta=1.0, examples=240)
    data = TensorDataset(INPUTS, LABELS, torch.arange(240))
    trainer = fit(module, data, 20, val_dataloaders=DataLoader(data, 240))
    assert trainer.callback_metrics["val_accuracy"] > 0.7  # of labels of which a fifth are wrong
    assert accuracy(module) > 0.97
    assert module.limit.label_issues is not None
    (probabilities,) = trainer.predict(module, DataLoader(data, 240)) or ()
    torch.testing.assert_close(probabilities.sum(1), torch.ones(240))


def test_a_resumed_training_keeps_its_record(tmp_path: Path) -> None:
    data = TensorDataset(INPUTS, LABELS, torch.arange(240))
    module = LimitModule(network(), 0.01, beta=1.0, examples=240)
    trainer = fit(module, data, 2, val_dataloaders=DataLoader(data, 240))
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    assert module.limit._pair is not None
    resumed = LimitModule(network(1), 0.01, beta=1.0, examples=240)
    fit(resumed, data, 3, val_dataloaders=DataLoader(data, 240), ckpt_path=tmp_path / "two.ckpt")
    assert resumed.limit._pair is not None
    assert resumed.limit._pair.record is not None
    assert resumed.limit._pair.record.batches == 3 * 6
    loaded = LimitModule.load_from_checkpoint(tmp_path / "two.ckpt", network=network(2))
    torch.testing.assert_close(loaded(INPUTS), module(INPUTS))


def test_a_module_that_is_configured_late() -> None:
    class Late(Own):
        def configure_model(self) -> None:
            if not hasattr(self, "late"):
                self.late = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.late(self.network(x))

    module = Late()
    fit(module, TensorDataset(INPUTS, LABELS), 1, LimitCallback())
    assert not torch.equal(module.late.weight, module.limit_predictor.late.weight)


class Manual(Own):
    automatic_optimization = False


@pytest.mark.parametrize(
    ("module", "tensors", "words"),
    [
        (Manual, (INPUTS, LABELS, torch.arange(240)), "automatic_optimization"),
        (Own, (INPUTS, LABELS), "batches have no rows"),
        (Own, (INPUTS, LABELS + 1, torch.arange(240)), "labels go from 0 to 2"),
        (Own, (INPUTS,), "give unpack"),
    ],
)
def test_bad_modules_and_batches(module: Any, tensors: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit(module(), TensorDataset(*tensors), 1, LimitCallback(examples=240))


def test_bad_input() -> None:
    used = LimitCallback()
    fit(Own(), TensorDataset(INPUTS, LABELS), 1, used)
    with pytest.raises(InputError, match="create another"):
        fit(Own(), TensorDataset(INPUTS, LABELS), 1, used)
    with pytest.raises(InputError, match="beta is -1"):
        LimitModule(network(), beta=-1)
    with pytest.raises(InputError, match="examples=n"):
        LimitCallback(write="issues.csv")
    with pytest.raises(InputError, match="csv"):
        LimitCallback(write="issues.xls", examples=3)
