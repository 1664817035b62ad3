"""A trained run: its settings, history, metrics, weights and predictions; and the choice among runs."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from PIL.Image import Image
from torch import Tensor, nn

from noiselimit.data.arrays import Inputs, LazyInputs, canonical_inputs, highest_value
from noiselimit.data.memory import fill_gaps, from_memory
from noiselimit.data.pictures import stack_pictures
from noiselimit.data.tables import Table
from noiselimit.dotted import Named, is_dotted, override_factories
from noiselimit.engine.backend import find_device
from noiselimit.engine.block_data import EVALUATION_BATCH, evaluation_batch
from noiselimit.engine.results import State
from noiselimit.errors import InputError
from noiselimit.features.cache import Embedding
from noiselimit.features.texts import require_trust
from noiselimit.networks import Role
from noiselimit.runs.spec import FLOAT32, RunSpec, architecture, problem, setting
from noiselimit.tasks import CLASSIFICATION, Task, task_from_json

if TYPE_CHECKING:
    from noiselimit.features.embedders import Embedder

OTHER_SCALE = 4
"""Images are refused if their largest value is more than this many times that of the training images."""


@dataclass(frozen=True)
class DataInfo:
    """What the networks expect of their inputs, and what their outputs mean."""

    name: str
    class_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    """Of the training inputs, per channel or feature."""
    highest: float
    """The largest input value, which distinguishes bytes from fractions."""
    table: Table | None = None
    """How rows of a table are encoded, for runs trained on one."""
    notes: tuple[str, ...] = ()
    """Messages from reading the data, such as skipped images."""
    resize: int | None = None
    """Side to which image files were scaled before cropping."""
    embedding: Embedding | None = None
    """The model whose features are the inputs, for runs trained on frozen features of images."""
    task: Task = CLASSIFICATION
    """What the outputs mean."""

    def __post_init__(self) -> None:
        if self.table is not None and len(self.mean) == self.table.features:
            object.__setattr__(self, "table", self.table.with_means(self.mean))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; 'table', 'notes', 'resize', 'embedding' and 'task' only if set."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        plain["table"] = None if self.table is None else self.table.to_json()
        plain["embedding"] = None if self.embedding is None else dataclasses.asdict(self.embedding)
        plain["task"] = None if self.task == CLASSIFICATION else self.task.to_json()
        plain = {name: value for name, value in plain.items() if value not in (None, ())}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; a KeyError, TypeError or ValueError if the values were altered."""
        known: dict[str, Any] = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        if "table" in known:
            known["table"] = Table.from_json(known["table"])
        if "embedding" in known:
            known["embedding"] = Embedding(**known["embedding"])
        if "task" in known:
            known["task"] = task_from_json(known["task"])
        known |= {name: tuple(each) for name, each in known.items() if isinstance(each, list)}
        info = cls(**known)
        features = info.table.features if info.table else info.input_shape[0]
        if not (
            len(info.class_names) >= info.task.least_outputs
            and all(isinstance(name, str) for name in info.class_names)
            and len(info.mean) == len(info.std) == info.input_shape[0] == features
            and all(0 < std < FLOAT32 for std in info.std)
            and all(abs(number) < FLOAT32 for number in (*info.mean, info.highest))
        ):
            raise ValueError("impossible classes, inputs or scale")
        return info

    def standardised(self, inputs: npt.NDArray[Any]) -> Tensor:
        """float32 [n, ...]: canonical inputs as the networks saw them in training."""
        shape = (-1, 1, 1) if len(self.input_shape) == 3 else (-1,)
        mean, std = (torch.tensor(values).view(shape) for values in (self.mean, self.std))
        writable = np.require(inputs, requirements=["C", "W"])  # torch warns otherwise
        return (torch.from_numpy(writable).to(torch.float32) - mean) / std

    def batches(self, inputs: Inputs, most: int = EVALUATION_BATCH) -> Iterator[Tensor]:
        """Standardised inputs, some at a time: they need not fit in memory."""
        size = evaluation_batch(inputs.shape[1:], most)
        for start in range(0, len(inputs), size):
            yield self.standardised(inputs[start : start + size])


@dataclass(frozen=True, eq=False)
class Weights:
    """State dicts of the best epoch."""

    classifier: State
    predictor: State | None


@dataclass(frozen=True, eq=False)
class Averaged:
    """Mean probabilities of the training and validation examples over the second half of the epochs."""

    index: npt.NDArray[np.int64]
    """[n]: positions in the data, ascending."""
    classifier: npt.NDArray[np.float32]
    """[n, C]."""
    predictor: npt.NDArray[np.float32] | None
    """[n, C]; None for methods without one."""


@dataclass(frozen=True, eq=False)
class RunContents:
    """The large parts of a run that has no folder."""

    weights: Weights
    outputs: pd.DataFrame
    """One row per example; the page on run folders lists the columns."""
    averaged: Averaged | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run. Weights and outputs are in memory or, if `path` is set, read from that folder.

    Attributes
    ----------
    spec : RunSpec
        Its settings.
    data : DataInfo
        What its networks expect of their inputs.
    history : list of mapping
        One per epoch: epoch, step, learning_rate, losses and accuracies.
    metrics : mapping
        The results, as in metrics.json.
    path : Path or None
        The run's folder.
    in_memory : RunContents or None
        The large parts of a run without a folder.
    trusted : bool
        Whether code that the spec names by dotted path may be imported.
    factories : mapping
        Dotted path → factory to call instead of importing it.
    """

    spec: RunSpec
    data: DataInfo
    history: Sequence[Mapping[str, Any]]
    metrics: Mapping[str, Any]
    path: Path | None = None
    in_memory: RunContents | None = None
    trusted: bool = False
    factories: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    @cached_property
    def place(self) -> Path:
        """The folder's absolute path, which stays valid if the working folder changes."""
        assert self.path is not None
        return self.path.absolute()

    def __post_init__(self) -> None:
        if self.path is not None:
            _ = self.place

    @property
    def failed(self) -> bool:
        """Whether training failed; `metrics["failure"]` says why."""
        return bool(self.metrics["status"] == "failed")

    @cached_property
    def weights(self) -> Weights:
        """Best-epoch weights of classifier and predictor."""
        from noiselimit.runs.folder import read_weights

        return self.in_memory.weights if self.in_memory else read_weights(self._folder())

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """Labels, gap and suggestion for every example of the run."""
        from noiselimit.runs.folder import read_outputs

        return self.in_memory.outputs if self.in_memory else read_outputs(self._folder())

    @property  # not cached, because it is large
    def averaged(self) -> Averaged | None:
        """Probabilities averaged over the second half of the epochs.

        None without `averaged=True`, or if training failed or stopped before that half.
        """
        from noiselimit.runs.folder import read_averaged

        if self.failed:
            return None
        if self.in_memory is not None:
            return self.in_memory.averaged
        return None if self.path is None else read_averaged(self.place)

    def _folder(self) -> Path:
        if self.path is None or self.metrics["best_epoch"] == 0:
            raise InputError(f"run {self.path or self.spec.hash} has no weights: {self.metrics['failure']}.")
        return self.place

    @cached_property
    def model(self) -> nn.Module:
        """The classifier in evaluation mode: standardised inputs → (logits, features)."""
        return self._build(Role.CLASSIFIER, self.weights.classifier)

    @cached_property
    def predictor(self) -> nn.Module | None:
        """The predictor, or None for methods without one."""
        if self.weights.predictor is None:
            return None
        return self._build(Role.PREDICTOR, self.weights.predictor)

    def _build(self, role: Role, state: State) -> nn.Module:
        network = architecture(self.spec, role)
        paths = [path for path in (network.features, network.name) if path is not None and is_dotted(path)]
        foreign = [path for path in paths if path not in self.factories and not isinstance(path, Named)]
        if foreign and not self.trusted:
            raise InputError(
                f"run {self.path} needs the code at '{foreign[0]}': if you trust it, load the run with "
                "trusted=True or with factory=…, or use --trust on the command line."
            )
        shape, classes = self.data.input_shape, len(self.data.class_names)
        try:
            with override_factories(self.factories):
                module = network.build(shape, classes)
            module.load_state_dict(dict(state))
        except InputError:
            raise
        except (RuntimeError, TypeError, ValueError, IndexError, OverflowError):
            raise InputError(
                f"the weights of run {self.path} do not fit network '{network.name}': train it again."
            ) from None
        return module.eval()

    @cached_property  # loading takes a second
    def embedder(self) -> "Embedder | None":
        """The model of the image features; None for a run on other inputs."""
        embedding = self.data.embedding
        if embedding is None:
            return None
        from noiselimit.features.embedders import load_embedder

        require_trust(embedding, self.trusted)
        embedder = load_embedder(embedding.name, find_device("auto"), embedding.side)
        embedding.require_same(embedder.embedding)
        return embedder

    def stack(self, images: list[Image]) -> Any:
        """Stack a list of images of any sizes, if the run was trained on their features."""
        embedding = self.data.embedding
        return images if embedding is None else stack_pictures(images, embedding.side)

    def encode(self, inputs: Any) -> Inputs:
        """Inputs as the networks take them: tables are encoded and images embedded as in training."""
        inputs, _ = from_memory(inputs, (), self.stack)
        if self.data.table is not None:
            inputs = self.data.table.encode_new(inputs, "inputs")
        elif len(self.data.input_shape) == 1:
            inputs = fill_gaps(inputs, self.data.mean)
        ready = inputs if isinstance(inputs, LazyInputs) else canonical_inputs(inputs, "inputs")
        if ready.ndim != 4 or self.embedder is None:
            return ready
        from noiselimit.features.pictures import embed_pictures

        return embed_pictures(ready, self.embedder)

    def predict(self, inputs: Any, batch_size: int = 1000) -> npt.NDArray[Any]:
        """Predict labels [n]: class numbers, or values for regression; the parameters of `predict_proba`."""
        return self.data.task.suggest(self.predict_proba(inputs, batch_size))[0]

    def predict_proba(self, inputs: Any, batch_size: int = 1000) -> npt.NDArray[np.float32]:
        """Predict class probabilities; for regression values in units of the task's scale, see `predict`.

        Parameters
        ----------
        inputs : array, DataFrame or list
            As in training: a DataFrame with the same columns, or a list of texts or images.
        batch_size : int
            Most inputs at a time.

        Returns
        -------
        array [n, C]
            float32.
        """
        ready = self.encode(inputs)
        if ready.shape[1:] != self.data.input_shape:
            raise InputError(
                f"inputs have shape {list(ready.shape[1:])} each, but the run was trained on "
                f"{list(self.data.input_shape)}: give inputs like those of '{self.data.name}'."
            )
        if ready.ndim == 4:
            highest = highest_value(ready)
            too_low = ready.dtype != np.uint8 and highest <= 1 < self.data.highest
            if too_low or highest > OTHER_SCALE * max(self.data.highest, 1.0):
                raise InputError(
                    f"inputs go up to {highest:g}, but the run was trained on values up to "
                    f"{self.data.highest:g}: scale them alike."
                )
        with torch.inference_mode():
            mean = self.data.task.mean
            found = [mean(self.model(batch)[0]) for batch in self.data.batches(ready, batch_size)]
        return np.asarray(torch.cat(found).numpy(), np.float32)


def prediction_table(runs: Sequence[Run], inputs: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per input: index, name if there are names, prediction, and the probability of each class.

    Probabilities are means over the runs, which have the same classes and inputs.
    """
    encoded, class_names = runs[0].encode(inputs), runs[0].data.class_names
    probabilities = np.mean([run.predict_proba(encoded) for run in runs], axis=0)
    labels = probabilities.argmax(1)
    table = pd.DataFrame(
        {
            "index": np.arange(len(labels)),
            "predicted_label": labels,
            "predicted_class": [class_names[label] for label in labels],
            "probability": probabilities.max(1),
            **{f"probability_{name}": probabilities[:, label] for label, name in enumerate(class_names)},
        }
    )
    if names is not None:
        table.insert(1, "name", list(names))
    return table


def mean_probabilities(runs: Sequence[Run], inputs: Inputs, device: torch.device) -> npt.NDArray[np.float32]:
    """Mean class probabilities [n, C] over runs, and over classifier and predictor of each.

    Computed on the device, in batches: the inputs need not fit in memory.
    """
    networks = [
        (run, copy.deepcopy(network).to(device))
        for run in runs
        for network in (run.model, run.predictor or run.model)
    ]
    mean = np.zeros((len(inputs), len(runs[0].data.class_names)), np.float32)
    size = evaluation_batch(inputs.shape[1:])
    with torch.inference_mode():
        for start in range(0, len(inputs), size):
            piece = inputs[start : start + size]  # lazy inputs are decoded once for all networks
            for run, network in networks:
                logits = network(run.data.standardised(piece).to(device))[0].to(torch.float32)
                mean[start : start + size] += run.data.task.mean(logits).cpu().numpy() / len(networks)
    return mean


def choose(runs: Sequence[Run]) -> list[bool]:
    """Choose one setting for every problem (data, noise, sizes).

    Runs that differ only in the seed share a setting. The setting with the highest mean validation accuracy
    wins; ties go to the lower mean validation loss, then to the first. A setting with a failed run loses.

    Parameters
    ----------
    runs : sequence of Run

    Returns
    -------
    list of bool
        For each run, whether its setting was chosen.
    """
    problems: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        settings = problems.setdefault(problem(run.spec).key, {})
        settings.setdefault(setting(run.spec).key, []).append(run)
    chosen = {id(run) for settings in problems.values() for run in _best(list(settings.values()))}
    return [id(run) in chosen for run in runs]


def _best(settings: Sequence[Sequence[Run]]) -> Sequence[Run]:
    eligible = [members for members in settings if not any(run.failed for run in members)]
    return max(eligible, key=_rank, default=[])  # max keeps the first of equals


def _rank(members: Sequence[Run]) -> tuple[float, float]:
    accuracy = fmean(run.metrics["validation_accuracy"] for run in members)
    return accuracy, -fmean(run.metrics["validation_loss"] for run in members)
