"""What is trained and timed: by our engine for everybody, so that tools differ and not engines."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.audit.train import judge
from noiselimit.bench.detection.folds import FOLDS, fold_splits
from noiselimit.bench.detection.watches import make_last_held_out, make_margins
from noiselimit.binding import bind
from noiselimit.cohort.device import find_device
from noiselimit.cohort.outcome import Finished
from noiselimit.cohort.pace import fast_precision, find_pace
from noiselimit.cohort.prepare import PreparedRun, prepare
from noiselimit.cohort.train import Listener, train_cohort
from noiselimit.cohort.watch import MakeWatch
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.machine import available_cores
from noiselimit.spec import RunSpec
from noiselimit.split import Split

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class How:
    """What all trainings of a comparison have in common; None: what our audit would take for the data."""

    epochs: int | None = None
    network: str = "auto"
    device: str = "auto"
    threads: int | None = None
    kernels: str = "auto"
    graphs: str = "auto"

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}: give a whole number ≥ 1.")
        find_pace(self.kernels, self.graphs, find_device(self.device))  # says what is not there
        RunSpec(network=self.network, epochs=1 if self.epochs is None else self.epochs)  # likewise

    def plan(self, plan: AuditPlan, seed: int) -> AuditPlan:
        """An audit of ours in these circumstances: nothing else of it changes."""
        return dataclasses.replace(plan, seeds=(seed,), epochs=self.epochs, network=self.network)

    def spec(self, data: DataSet, seed: int) -> RunSpec:
        """Cross-entropy with the epochs, batches, rates, network and augmentation of our audit."""
        ours = self.plan(DEFAULT, seed).specs(data)[0]
        spec = dataclasses.replace(ours, method="ce", hyper={}, patience=ours.epochs)
        return bind(spec, data, fast_precision(find_device(self.device)))


def _ours(plan: AuditPlan) -> Callable[[DataSet, int, How], Arrays]:
    def train(data: DataSet, seed: int, how: How) -> Arrays:
        """`probabilities` [n, C] by which the audit judges, and `seen` [n]: in training or held out."""
        judged = judge(
            data,
            how.plan(plan, seed),
            device=how.device,
            threads=how.threads,
            kernels=how.kernels,
            graphs=how.graphs,
        )
        outputs = judged.runs[0].outputs  # runs of one seed share their split
        seen = np.zeros(len(data.examples), np.bool_)
        seen[outputs["index"][outputs["part"] == "train"]] = True
        return {"probabilities": judged.pred_probs, "seen": seen, "counted": np.array(judged.counted)}

    return train


def cross_validate(data: DataSet, seed: int, how: How) -> Arrays:
    """`last` and `stopped` [n, C]: held-out probabilities after the last epoch, and after that epoch of each
    fold in which it predicted its held-out given labels best."""
    specs = [how.spec(data, seed * FOLDS + fold) for fold in range(FOLDS)]
    splits = fold_splits(data.examples.labels, seed)
    shape = len(data.examples), data.examples.classes
    found = {"last": np.empty(shape, np.float32), "stopped": np.empty(shape, np.float32)}
    epochs = np.zeros(FOLDS, np.int64)
    for fold, row in enumerate(_train(specs, splits, data, how, make_last_held_out)):
        apart = splits[fold].validation
        found["last"][apart] = row.watched.numpy()
        found["stopped"][apart] = row.best["validation"].classifier.numpy()
        epochs[fold] = row.best_epoch
    return {**found, "best_epochs": epochs}


def train_plainly(data: DataSet, seed: int, how: How) -> Arrays:
    """`last` and `stopped` [n, C] of one run that keeps the audit's validation part apart."""
    spec = how.spec(data, seed)
    split = prepare(spec, data).split
    (row,) = _train([spec], [split], data, how, make_last_held_out)
    shape = len(data.examples), data.examples.classes
    last, stopped = np.empty(shape, np.float32), np.empty(shape, np.float32)
    assert row.last is not None
    last[split.train], last[split.validation] = row.last.classifier.numpy(), row.watched.numpy()
    for name, part in (("train", split.train), ("validation", split.validation)):
        stopped[part] = row.best[name].classifier.numpy()
    return {"last": last, "stopped": stopped, "best_epochs": np.array([row.best_epoch])}


def watch_margins(data: DataSet, seed: int, how: How) -> Arrays:
    """`margins` [E, n] of every epoch of one run on all examples."""
    everything = np.arange(len(data.examples))
    nothing = np.empty(0, np.int64)
    split = Split(everything, everything[:2], nothing)  # two validate, since some have to; nobody looks
    (row,) = _train([how.spec(data, seed)], [split], data, how, make_margins)
    return {"margins": row.watched.numpy()}


TRAININGS: dict[str, Callable[[DataSet, int, How], Arrays]] = {
    "folds": cross_validate,
    "plain": train_plainly,
    "margins": watch_margins,
    "default": _ours(DEFAULT),
    "fast": _ours(FAST),
}
EFFORT = {"folds": 4.0, "plain": 0.8, "margins": 1.0, "default": 3.2, "fast": 1.6}
"""About how long each takes, in passes of one network over all examples."""


def _train(
    specs: Sequence[RunSpec], splits: Sequence[Split], data: DataSet, how: How, watched: MakeWatch
) -> list[Finished]:
    """One cohort with splits of ours; in the order of the specs."""
    device = find_device(how.device)
    prepared: list[PreparedRun] = [
        dataclasses.replace(prepare(spec, data), split=split)
        for spec, split in zip(specs, splits, strict=True)
    ]
    rows: dict[int, Finished] = {}

    def on_finished(finished: Finished) -> None:
        if finished.failure is not None:
            raise RuntimeError(finished.failure)
        rows[finished.row] = finished

    train_cohort(
        specs,
        prepared,
        [None] * len(specs),
        data,
        device=device,
        threads=available_cores() if how.threads is None else how.threads,
        threads_per_block=1,
        pace=find_pace(how.kernels, how.graphs, device),
        listener=Listener(lambda row, record: None, on_finished),
        watched=watched,
    )
    return [rows[number] for number in range(len(specs))]
