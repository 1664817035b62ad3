"""LIMIT for Lightning: a module of ours, and a callback that trains your own module by LIMIT."""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn

from noiselimit.errors import InputError
from noiselimit.information.meter import MemorisationMeter
from noiselimit.integrations.torch import Limit, LimitOutput
from noiselimit.loss import LimitLoss
from noiselimit.networks.module import logits_of

ENDINGS = (".csv", ".parquet")


class LimitCallback(Callback):
    """Train any LightningModule by LIMIT: `Trainer(callbacks=[LimitCallback(beta=3.0)])`.

    It replaces `training_step`. Everything else stays yours: `forward`, which must return logits, validation,
    the optimiser and its schedule. The predictor, a copy of your module, becomes its child `limit_predictor`,
    so `configure_optimizers` and checkpoints include it. It logs `train_loss` and `memorised_bits`, the bits
    per label that the model has memorised, estimated from the predictor's uncertainty.

    Parameters
    ----------
    examples : int, optional
        Number of training examples, if batches are (inputs, labels, rows); see `Limit`. The table of label
        errors is then in the attribute `label_issues` after training.
    write : path, optional
        Write this table as well, to a .csv or .parquet file.
    predictor : Module, optional
        Instead of the copy.
    unpack : function, optional
        Turns a batch into (inputs, labels) or (inputs, labels, rows); by default the batch itself is that.
    beta, distribution, sigma, ignore_index
        See `LimitLoss`.
    """

    def __init__(
        self,
        *,
        examples: int | None = None,
        write: str | Path | None = None,
        predictor: nn.Module | None = None,
        unpack: Callable[[Any], tuple[Any, ...]] | None = None,
        beta: float = 10.0,
        distribution: str = "laplace",
        sigma: float = 0.0,
        ignore_index: int = -100,
    ) -> None:
        if write is not None and (examples is None or Path(write).suffix not in ENDINGS):
            raise InputError(f"write is {str(write)!r}: give a .csv or .parquet file, and examples=n.")
        LimitLoss(beta, distribution, sigma, ignore_index=ignore_index)  # checks them
        self.write = None if write is None else Path(write)
        self.unpack = unpack
        self.label_issues: pd.DataFrame | None = None
        self._limit = partial(
            Limit,
            beta=beta,
            distribution=distribution,
            sigma=sigma,
            ignore_index=ignore_index,
            examples=examples,
        )
        self._predictor = predictor
        self._pair: Limit | None = None
        self._meter: MemorisationMeter | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if stage != "fit" or (self._pair is not None and self._pair.classifier is pl_module):
            return
        if self._pair is not None:
            raise InputError("a LimitCallback trains one module: create another one for the next.")
        if not pl_module.automatic_optimization:
            raise InputError("LimitCallback replaces training_step: set automatic_optimization = True.")
        pl_module.configure_model()  # Lightning would call it after this; it may be called twice
        predictor = self._predictor or _copy(pl_module)
        self._pair = self._limit(pl_module, predictor)
        pl_module.limit_predictor = predictor
        pl_module.training_step = partial(self._training_step, pl_module)  # type: ignore[method-assign]
        if self.write is not None:
            self.write.parent.mkdir(parents=True, exist_ok=True)

    def _training_step(self, module: LightningModule, batch: Any, *_: Any) -> Tensor:
        assert self._pair is not None
        parts = batch if self.unpack is None else self.unpack(batch)
        if not isinstance(parts, tuple | list) or len(parts) not in (2, 3):
            raise InputError(
                f"a batch is a {type(parts).__name__}: give unpack, a function from batches to (inputs, "
                "labels) or (inputs, labels, rows)."
            )
        inputs, labels, rows = (*parts, None)[:3]
        if rows is None and self._pair.record is not None:
            raise InputError("examples is given, but batches have no rows: give (inputs, labels, rows).")
        output: LimitOutput = self._pair(inputs, labels=labels, rows=rows)
        module.log("train_loss", output.loss.detach(), prog_bar=True)
        if labels.shape == output.logits.shape[:1]:  # one label per example
            counted = labels != self._pair.criterion.ignore_index
            self._meter = self._meter or MemorisationMeter(output.logits.shape[-1])
            self._meter.update(
                output.logits[counted], labels[counted], predictor_logits=output.predictor_logits[counted]
            )
        return output.loss

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._meter is not None:
            pl_module.log("memorised_bits", torch.tensor(self._meter.read().bits), sync_dist=True)

    def state_dict(self) -> dict[str, Any]:
        """The record of labels, which checkpoints contain."""
        record = None if self._pair is None else self._pair.record
        return {} if record is None else record.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue the record of a checkpoint."""
        if self._pair is not None and self._pair.record is not None:
            self._pair.record.load_state_dict(state_dict)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert self._pair is not None
        if self._pair.record is None or self._pair.record.sums is None:  # no training step
            return
        self.label_issues = self._pair.label_issues()
        if self.write is not None and trainer.is_global_zero:
            save = self.label_issues.to_csv if self.write.suffix == ".csv" else self.label_issues.to_parquet
            save(self.write, index=False)


def _copy(module: LightningModule) -> LightningModule:
    """A copy without the trainer, which holds the data."""
    trainer, module._trainer = module._trainer, None
    try:
        return copy.deepcopy(module)
    finally:
        module._trainer = trainer


class LimitModule(LightningModule):
    """A LightningModule that trains a network by LIMIT.

    Batches are (inputs, labels) or (inputs, labels, rows). It logs what `LimitCallback` logs, and for
    validation batches `val_loss`, the cross-entropy, and `val_accuracy`, by the given labels.

    Parameters
    ----------
    network : Module
        Returns logits; see `Limit`.
    learning_rate : float
        Of Adam.
    **options
        Those of `LimitCallback`, such as `beta` and `examples`.

    Attributes
    ----------
    limit : LimitCallback
        Holds `label_issues` after training.
    """

    def __init__(self, network: nn.Module, learning_rate: float = 1e-3, **options: Any) -> None:
        super().__init__()
        self.network = network
        self.learning_rate = learning_rate
        self.limit = LimitCallback(**options)

    def forward(self, *inputs: Any) -> Tensor:
        return logits_of(self.network(*inputs))

    def configure_callbacks(self) -> list[Callback]:
        return [self.limit]

    def training_step(self, batch: Any, batch_index: int) -> Tensor:
        raise AssertionError("the callback replaces this")

    def validation_step(self, batch: Any, batch_index: int) -> None:
        inputs, labels, *_ = batch
        logits = self(inputs)
        self.log("val_loss", nn.functional.cross_entropy(logits, labels), prog_bar=True)
        self.log("val_accuracy", (logits.argmax(-1) == labels).float().mean(), prog_bar=True)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Leave out the predictor, unless training resumes."""
        if not hasattr(self, "limit_predictor"):
            state = checkpoint["state_dict"]
            checkpoint["state_dict"] = {
                name: value for name, value in state.items() if not name.startswith("limit_predictor.")
            }

    def predict_step(self, batch: Any, batch_index: int = 0) -> Tensor:
        """Probabilities [B, C]."""
        inputs = batch[0] if isinstance(batch, tuple | list) else batch
        return torch.softmax(self(inputs), -1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), self.learning_rate)
