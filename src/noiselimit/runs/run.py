"""Predictions of a run's classifier as a table."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor, nn

from noiselimit.data.arrays import Inputs, LazyInputs, canonical_inputs, highest_value
from noiselimit.data.tables import Table
from noiselimit.engine.block_data import evaluation_batch
from noiselimit.engine.rows import State
from noiselimit.errors import InputError
from noiselimit.networks import Role
from noiselimit.networks.module import is_dotted, override_factories
from noiselimit.runs.spec import RunSpec, architecture

OTHER_SCALE = 4
"""How many times larger than in training the largest value of pictures may be before they are refused."""


@dataclass(frozen=True)
class DataInfo:
    """What the networks expect of their inputs and what their outputs mean."""

    name: str
    class_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    """Of the training inputs, per channel or per feature."""
    highest: float
    """The largest value among all inputs, which tells bytes from fractions of them."""
    table: Table | None = None
    """How rows of a table became inputs, for runs trained on one."""
    notes: tuple[str, ...] = ()
    """What reading the data had to tell, such as pictures that were skipped."""
    resize: int | None = None
    """Side to which pictures from files were scaled before their window was cut, if they were."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; 'table', 'notes' and 'resize' only where there are such."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["table"] = None if self.table is None else self.table.to_json()
        plain = {name: value for name, value in plain.items() if value not in (None, ())}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    def standardised(self, inputs: npt.NDArray[Any]) -> Tensor:
        """float32 [n, ...]: canonical inputs as the networks saw them in training."""
        shape = (-1, 1, 1) if len(self.input_shape) == 3 else (-1,)
        mean, std = (torch.tensor(values).view(shape) for values in (self.mean, self.std))
        return (torch.from_numpy(np.ascontiguousarray(inputs)).to(torch.float32) - mean) / std


@dataclass(frozen=True, eq=False)
class Weights:
    """State dicts of the best epoch."""

    classifier: State
    predictor: State | None


@dataclass(frozen=True, eq=False)
class Averaged:
    """Mean probabilities over the second half of the epochs, of the training and validation examples."""

    index: npt.NDArray[np.int64]
    """[n]: positions in the data, ascending."""
    classifier: npt.NDArray[np.float32]
    """[n, C]."""
    predictor: npt.NDArray[np.float32] | None
    """[n, C]; None for methods without one."""


@dataclass(frozen=True, eq=False)
class RunContents:
    """The large things of a run, as long as it has no folder to read them from."""

    weights: Weights
    outputs: pd.DataFrame
    """One row per example; see docs/run-folder.md for the columns."""
    averaged: Averaged | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """One finished training. Weights and outputs are in memory, or else read from the folder `path`."""

    spec: RunSpec
    data: DataInfo
    history: Sequence[Mapping[str, Any]]
    """One mapping per epoch: epoch, step, learning_rate, and loss and accuracy on the parts."""
    metrics: Mapping[str, Any]
    path: Path | None = None
    in_memory: RunContents | None = None
    trusted: bool = False
    """Whether code that the spec names by dotted path may be imported: not for what a folder says."""
    factories: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """Dotted path → what to call in its place, so that nothing is imported."""

    @cached_property
    def place(self) -> Path:
        """Where the folder is even when the process has moved to another working folder."""
        assert self.path is not None
        return self.path.absolute()

    def __post_init__(self) -> None:
        if self.path is not None:
            _ = self.place  # now, while a relative path still means what it meant

    @property
    def failed(self) -> bool:
        """Whether training broke down; `metrics["failure"]` says why."""
        return bool(self.metrics["status"] == "failed")

    @cached_property
    def weights(self) -> Weights:
        """Best-epoch weights of classifier and predictor."""
        from noiselimit.runs.folder import read_weights

        return self.in_memory.weights if self.in_memory else read_weights(self._folder())

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """Labels, gap and suggestion for every example the run trained, validated or was tested on."""
        from noiselimit.runs.folder import read_outputs

        return (
            self.in_memory.outputs
            if self.in_memory
            else read_outputs(self._folder(), len(self.data.class_names))
        )

    @cached_property
    def averaged(self) -> Averaged | None:
        """Mean probabilities over the second half of the epochs; None unless trained with averaged=True.

        None as well where training failed or stopped before that half.
        """
        from noiselimit.runs.result import read_averaged

        if self.in_memory is not None:
            return self.in_memory.averaged
        return None if self.path is None else read_averaged(self.place)

    def _folder(self) -> Path:
        if self.path is None or self.metrics["best_epoch"] == 0:
            where = self.path or self.spec.hash
            raise InputError(f"run {where} has no weights: {self.metrics['failure']}.")
        return self.place

    @cached_property
    def model(self) -> nn.Module:
        """The classifier, an ordinary module in evaluation mode: standardised inputs → (logits, features)."""
        return self._build(Role.CLASSIFIER, self.weights.classifier)

    @cached_property
    def predictor(self) -> nn.Module | None:
        """The predictor likewise, or None for methods without one."""
        if self.weights.predictor is None:
            return None
        return self._build(Role.PREDICTOR, self.weights.predictor)

    def _build(self, role: Role, state: State) -> nn.Module:
        network = architecture(self.spec, role)
        paths = [path for path in (network.features, network.name) if path is not None and is_dotted(path)]
        foreign = [path for path in paths if path not in self.factories]
        if foreign and not self.trusted:
            raise InputError(
                f"run {self.path} needs the code at '{foreign[0]}': if you trust it, load the run with "
                "trusted=True or with factory=…, or say --trust on the command line."
            )
        try:
            if not paths:
                with torch.device("meta"):  # what the folder declares is compared with its weights first
                    drawn = network.build(self.data.input_shape, len(self.data.class_names)).state_dict()
                if {name: t.shape for name, t in drawn.items()} != {
                    name: t.shape for name, t in state.items()
                }:
                    raise ValueError("other weights")
            with override_factories(self.factories):
                module = network.build(self.data.input_shape, len(self.data.class_names))
            module.load_state_dict(dict(state))
        except InputError:
            raise  # of somebody's own code, which is not where it was
        except (RuntimeError, TypeError, ValueError, IndexError, OverflowError):
            raise InputError(
                f"the weights in {self.path or 'memory'} do not fit network '{network.name}': the folder was "
                "altered, so train the run again."
            ) from None
        return module.eval()

    def predict_proba(self, inputs: Any, batch_size: int = 1000) -> npt.NDArray[np.float32]:
        """Class probabilities [n, C] of the classifier, for inputs as they are in the data.

        A run trained on a table also takes a DataFrame with its columns.
        """
        ready = self._canonical(inputs)
        if ready.shape[1:] != self.data.input_shape:
            raise InputError(
                f"inputs have shape {list(ready.shape[1:])} each, but the run was trained on "
                f"{list(self.data.input_shape)}: give inputs like those of '{self.data.name}'."
            )
        if ready.ndim == 4 and ready.dtype != np.uint8 and highest_value(ready) <= 1 < self.data.highest:
            raise InputError(
                f"inputs go up to {highest_value(ready):g}, but the run was trained on values up to "
                f"{self.data.highest:g}: scale them alike."
            )
        if ready.ndim == 4 and highest_value(ready) > OTHER_SCALE * max(self.data.highest, 1.0):
            raise InputError(
                f"inputs go up to {highest_value(ready):g}, but the run was trained on values up to "
                f"{self.data.highest:g}: scale them alike."
            )
        # One at a time: pictures that are decoded when asked for need not fit in memory together.
        size = evaluation_batch(ready.shape[1:], batch_size)
        pieces = (ready[i : i + size] for i in range(0, len(ready), size))
        with torch.inference_mode():
            said = [self.model(self.data.standardised(piece))[0].softmax(-1) for piece in pieces]
        return np.asarray(torch.cat(said).numpy(), np.float32)

    def _canonical(self, inputs: Any) -> Inputs:
        if isinstance(inputs, LazyInputs):
            return inputs
        if self.data.table is not None and isinstance(inputs, pd.DataFrame):
            inputs = self.data.table.encode(inputs, "inputs")
        return canonical_inputs(inputs, "inputs")


def prediction_table(run: Run, inputs: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per input: its index, the predicted label and class name, and the probability given to it.

    `names` [n], where inputs have any, are a second column.
    """
    _require_scale(run, inputs)
    probabilities = run.predict_proba(inputs)
    labels = probabilities.argmax(1)
    table = pd.DataFrame(
        {
            "index": np.arange(len(labels)),
            "predicted_label": labels,
            "predicted_class": [run.data.class_names[label] for label in labels],
            "probability": probabilities.max(1),
        }
    )
    if names is not None:
        table.insert(1, "name", list(names))
    return table


def _require_scale(run: Run, inputs: Any) -> None:
    """Pictures from files hold bytes; to a run on fractions of them all of these would look alike."""
    is_bytes = len(run.data.input_shape) == 3 and getattr(inputs, "dtype", None) == np.uint8
    if is_bytes and run.data.highest <= 1 < highest_value(inputs):
        raise InputError(
            f"inputs go up to {highest_value(inputs):g}, but the run was trained on values up to "
            f"{run.data.highest:g}: give an .npz file with values scaled alike."
        )
