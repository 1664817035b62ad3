"""What other tools do: their trainings, by our engine, and their formulas.

cleanlab ranks by five-fold cross-validated probabilities, AUM by the mean margin over the epochs of a
training, and plain cross-entropy by its loss. All train the network and the settings of our audit.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from torch import Tensor

from benchmarks.problems import Floats, Labels
from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import fast_precision, find_backend, find_device
from noiselimit.engine.block_data import BlockData
from noiselimit.engine.callbacks import MakeCallback, is_averaged
from noiselimit.engine.cohort import CohortTrainer
from noiselimit.engine.preparation import Split, bind, prepare
from noiselimit.engine.results import RunResult, Scores
from noiselimit.fields import option
from noiselimit.machine import available_cores
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.spec import RunSpec

Found = Mapping[str, Any]
"""What a training leaves behind: mostly arrays."""
Flags = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.floating[Any]]
FOLDS = 5
REGULARISATIONS = (0.01, 0.1, 1.0)
"""C of logistic regression on standardised features."""
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Setting:
    """Where and how long all tools train which network; None and 'auto': what our audit takes."""

    epochs: int | None = option(None, "Epochs of each training.", metavar="N", shown="as in an audit")
    network: str = option("auto", "Network that every tool trains.", metavar="NAME")
    device: str = option("auto", "auto, cpu or cuda.", metavar="NAME")
    threads: int | None = option(None, "CPU threads.", metavar="N", shown="all cores", min=1)
    features: str = option(
        "none", "Features of images or text, for every tool; as in an audit.", metavar="NAME"
    )
    resize: int | None = option(None, "Side of the images to embed; as in an audit.", metavar="PIXELS")
    cache: Path | None = option(None, "Keep features here, to embed once.", metavar="FOLDER")
    trainings: str | None = option(None, "Names of trainings to run.", metavar="NAME,...", shown="all")

    @property
    def chosen(self) -> list[str]:
        """Names of the trainings to run; none: all."""
        return self.trainings.split(",") if self.trainings else []

    def plan(self, plan: AuditPlan, seed: int) -> AuditPlan:
        """An audit of ours in this setting."""
        return replace(plan, seeds=(seed,), epochs=self.epochs, network=self.network)

    def spec(self, data: DataSet, seed: int) -> RunSpec:
        """Cross-entropy with the batches, rate, network, augmentation and usual epochs of our audit."""
        plan = self.plan(DEFAULT, seed)
        epochs = plan.settings(data)["epochs"]
        spec = replace(plan.specs(data)[0], method="ce", hyper={}, epochs=epochs, patience=epochs)
        return bind(spec, data, fast_precision(find_device(self.device)))


# Trainings -------------------------------------------------------------------------------------------------


def cross_validate(data: DataSet, seed: int, setting: Setting) -> Found:
    """Held-out probabilities [n, C] of five folds, trained as one cohort.

    `last` is after the last epoch, `averaged` the mean over the second half of the epochs, and `stopped`
    after each fold's epoch with the best accuracy on its held-out given labels.
    """
    specs = [setting.spec(data, seed * FOLDS + fold) for fold in range(FOLDS)]
    splits = fold_splits(data.examples.labels, seed)
    shape = len(data.examples), data.examples.classes
    found = {name: np.empty(shape, np.float32) for name in ("last", "averaged", "stopped")}
    rows = _train(specs, splits, data, setting, record_held_out)
    for split, row in zip(splits, rows, strict=True):
        found["last"][split.validation], found["averaged"][split.validation] = row.callback_result.numpy()
        found["stopped"][split.validation] = row.best["validation"].classifier.numpy()
    return {**found, "best_epochs": np.array([row.best_epoch for row in rows])}


def cross_validate_logistic(data: DataSet, seed: int, setting: Setting) -> Found:
    """Held-out probabilities [n, C] of logistic regression in the same five folds.

    The first fold chooses the regularisation by its held-out accuracy.
    """

    def make(regularisation: float) -> Pipeline:
        return make_pipeline(StandardScaler(), LogisticRegression(C=regularisation, max_iter=200))

    inputs, labels = vectors(data), data.examples.labels
    first = fold_splits(labels, seed)[0]
    held_out = inputs[first.validation], labels[first.validation]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = {each: make(each).fit(inputs[first.train], labels[first.train]) for each in REGULARISATIONS}
        best = max(REGULARISATIONS, key=lambda each: fitted[each].score(*held_out))
        return {"logistic": _held_out(data, seed, lambda: make(best))}


def cross_validate_forest(data: DataSet, seed: int, setting: Setting) -> Found:
    """The same of a random forest."""
    jobs = setting.threads or available_cores()
    return {"forest": _held_out(data, seed, lambda: RandomForestClassifier(n_jobs=jobs, random_state=seed))}


def cross_validate_boosting(data: DataSet, seed: int, setting: Setting) -> Found:
    """The same of gradient boosting, with early stopping."""

    def make() -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(early_stopping=True, random_state=seed)

    with threadpool_limits(setting.threads):
        return {"boosting": _held_out(data, seed, make)}


def _held_out(data: DataSet, seed: int, make: Callable[[], Any]) -> Probabilities:
    inputs, labels = vectors(data), data.examples.labels
    found = np.zeros((len(labels), data.examples.classes), np.float32)
    for split in fold_splits(labels, seed):
        model = make().fit(inputs[split.train], labels[split.train])
        found[np.ix_(split.validation, model.classes_)] = model.predict_proba(inputs[split.validation])
    return found


def vote_of_neighbours(data: DataSet, seed: int, setting: Setting) -> Found:
    """`votes` [n, C]: shares of the labels of the ten nearest other examples, as in SimiFeat."""
    inputs, labels = StandardScaler().fit_transform(vectors(data)), data.examples.labels
    index = NearestNeighbors(n_neighbors=10, n_jobs=setting.threads).fit(inputs)
    votes = np.eye(data.examples.classes, dtype=np.float32)[labels[index.kneighbors(return_distance=False)]]
    return {"votes": votes.mean(1)}


def vectors(data: DataSet) -> npt.NDArray[np.float32]:
    """[n, values]: what models for vectors see."""
    inputs = np.asarray(data.examples.inputs, np.float32).reshape(len(data.examples), -1)
    if inputs.shape[1] > 2048:
        raise RuntimeError("models for vectors are not measured on images of this size")
    return inputs


def train_plain(data: DataSet, seed: int, setting: Setting) -> Found:
    """Probabilities [n, C] of one run with the audit's validation part, `last` and `stopped`."""
    spec = setting.spec(data, seed)
    split = prepare(spec, data).split
    (row,) = _train([spec], [split], data, setting, record_held_out)
    last, stopped = np.empty((2, len(data.examples), data.examples.classes), np.float32)
    assert row.last is not None
    last[split.train], last[split.validation] = row.last.classifier.numpy(), row.callback_result[0].numpy()
    stopped[split.train] = row.best["train"].classifier.numpy()
    stopped[split.validation] = row.best["validation"].classifier.numpy()
    return {"last": last, "stopped": stopped, "best_epochs": np.array([row.best_epoch])}


def train_margins(data: DataSet, seed: int, setting: Setting) -> Found:
    """`margins` [E, n] of every epoch of one run on all examples."""
    everything = np.arange(len(data.examples))
    split = Split(everything, everything[:2], NOTHING)  # validation must not be empty; it is not used
    (row,) = _train([setting.spec(data, seed)], [split], data, setting, record_margins)
    return {"margins": row.callback_result.numpy()}


def fold_splits(labels: Labels, seed: int) -> list[Split]:
    """Five stratified folds, each held out as the validation part, all of one size.

    Where fold sizes differ by one, smaller folds leave one training example out and hold one out twice.
    """
    order = permutation(seed, Stream.SPLIT, 0, len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    fold_of = np.empty(len(labels), np.int64)
    fold_of[by_class] = np.arange(len(labels)) % FOLDS
    largest = int(np.bincount(fold_of).max())
    order = permutation(seed, Stream.SPLIT, 2, len(labels))  # which example is left out is random
    return [
        Split(
            order[fold_of[order] != fold][: len(labels) - largest],
            np.resize(np.flatnonzero(fold_of == fold), largest),
            NOTHING,
        )
        for fold in range(FOLDS)
    ]


def _train(
    specs: Sequence[RunSpec],
    splits: Sequence[Split],
    data: DataSet,
    setting: Setting,
    callback: MakeCallback,
) -> list[RunResult]:
    """Train one cohort with the given splits."""
    device = find_device(setting.device)
    runs = [replace(prepare(spec, data), split=split) for spec, split in zip(specs, splits, strict=True)]
    rows: dict[int, RunResult] = {}

    def on_result(finished: RunResult) -> None:
        if finished.failure is not None:
            raise RuntimeError(finished.failure)
        rows[finished.row] = finished

    CohortTrainer(
        specs,
        runs,
        [None] * len(specs),
        data,
        backend=replace(find_backend("auto", "auto", device), threads=setting.threads or available_cores()),
        on_epoch=lambda row, record: None,
        on_result=on_result,
        callback=callback,
    ).train()
    return [rows[number] for number in range(len(specs))]


# What is recorded while they train -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Margins:
    """AUM's margins in training steps: the given class's logit less the largest other one."""

    labels: Tensor
    """int64 [K, m]"""
    found: Tensor
    """float32 [K, E × m]: epoch by epoch."""
    epoch: Tensor
    """int64 []: the current one, from 0."""

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        self.epoch.fill_(epoch - 1)

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        return False

    @torch.no_grad()
    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        logits, own = logits.to(torch.float32), self.labels.gather(1, positions)[..., None]
        margins = logits.gather(-1, own)[..., 0] - logits.scatter(-1, own, -torch.inf).amax(-1)
        self.found.scatter_(1, self.epoch * self.labels.shape[1] + positions, margins)

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        pass

    def result(self, row: int, last: Scores) -> Tensor:
        """[E, m]"""
        return self.found[row].view(-1, self.labels.shape[1]).cpu()

    def state(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        return {"found": self.found[row]}

    def select(self, rows: Sequence[int]) -> "Margins":
        return replace(self, labels=self.labels[rows], found=self.found[rows])


def record_margins(
    specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
) -> Margins:
    """Record margins of every epoch."""
    labels = data.train.labels
    found = torch.zeros(len(specs), specs[0].epochs * labels.shape[1], device=device)
    return Margins(labels, found, torch.zeros((), dtype=torch.int64, device=device))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Probabilities of the validation part: of the last epoch, and summed over the second half of them."""

    found: Tensor
    """float32 [2, K, v, C]: the last ones, and sums."""
    averaged: int
    """How many epochs are summed. No run stops early."""

    def on_epoch_start(self, epoch: int, specs: Sequence[RunSpec]) -> None:
        pass

    def needs_validation(self, epoch: int, specs: Sequence[RunSpec]) -> bool:
        return is_averaged(specs[0], epoch)

    def on_train_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        pass

    def on_validation_batch(self, positions: Tensor, logits: Tensor, predicted: Tensor | None) -> None:
        there = positions[:, :, None].expand(logits.shape)
        probabilities = logits.softmax(-1, dtype=torch.float32)
        self.found[0].scatter_(1, there, probabilities)
        self.found[1].scatter_add_(1, there, probabilities)

    def result(self, row: int, last: Scores) -> Tensor:
        """[2, v, C]: last and averaged."""
        final, added = self.found[:, row].cpu()
        return torch.stack([final, added / self.averaged])

    def state(self, row: int, spec: RunSpec, epoch: int) -> dict[str, Tensor]:
        return {"found": self.found[:, row]}

    def select(self, rows: Sequence[int]) -> "HeldOut":
        return replace(self, found=self.found[:, rows])


def record_held_out(
    specs: Sequence[RunSpec], data: BlockData, predictors: int, classes: int, device: torch.device
) -> HeldOut:
    """Record probabilities of the validation part."""
    found = torch.zeros(2, len(specs), len(data.validation), classes, device=device)
    return HeldOut(found, averaged=specs[0].epochs - specs[0].epochs // 2)


# Scores [n], higher is worse -------------------------------------------------------------------------------


def self_confidence(probabilities: Probabilities, given: Labels) -> Floats:
    """Minus the probability of the given label: cleanlab's self-confidence."""
    return -np.take_along_axis(probabilities, given[:, None], 1)[:, 0].astype(np.float64)


def normalized_margin(probabilities: Probabilities, given: Labels) -> Floats:
    """Minus cleanlab's normalized margin, (p of the given label − the largest other + 1) / 2."""
    own = -self_confidence(probabilities, given)
    largest = np.where(_is_given(probabilities, given), -np.inf, probabilities).max(1).astype(np.float64)
    return np.asarray(-(own - largest + 1) / 2)


def adjusted_margin(probabilities: Probabilities, given: Labels) -> Floats:
    """The same of probabilities from which each class's mean self-confidence is subtracted first."""
    own = -self_confidence(probabilities, given)
    members = np.maximum(np.bincount(given, minlength=probabilities.shape[1]), 1)
    usual = np.bincount(given, own, probabilities.shape[1]) / members
    shifted = probabilities - usual + usual.max()
    return normalized_margin(shifted / shifted.sum(1, keepdims=True), given)


def loss(probabilities: Probabilities, given: Labels) -> Floats:
    """−log p of the given label, exact also where p rounds to 1."""
    rest = np.where(_is_given(probabilities, given), 0.0, probabilities.astype(np.float64)).sum(1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(rest / -self_confidence(probabilities, given)))


def _is_given(probabilities: Probabilities, given: Labels) -> Flags:
    return np.asarray(np.arange(probabilities.shape[1]) == given[:, None])


def cleanlab_flags(probabilities: Probabilities, given: Labels) -> tuple[Flags, float]:
    """What cleanlab flags by default, and its estimate of the share of wrong labels."""
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues

    exact = probabilities.astype(np.float64)
    exact /= exact.sum(1, keepdims=True)
    flags = np.asarray(find_label_issues(given, exact, n_jobs=1), np.bool_)
    return flags, float(num_label_issues(given, exact)) / len(given)


# How good scores and flags are -----------------------------------------------------------------------------


def ranking(scores: Floats, wrong: Flags) -> dict[str, float | None]:
    """`auroc` and `auprc` of scores; None where all labels are right, or wrong."""
    if wrong.all() or not wrong.any():
        return {"auroc": None, "auprc": None}
    finite = np.nan_to_num(scores, posinf=np.finfo(np.float64).max)
    auroc, auprc = roc_auc_score(wrong, finite), average_precision_score(wrong, finite)
    return {"auroc": float(auroc), "auprc": float(auprc)}


def flagging(flags: Flags, noise_rate: float | None, wrong: Flags) -> dict[str, float | None]:
    """`f1` and `flagged` of a tool's flags, and the error of its estimated share of wrong labels, if any."""
    return {
        "f1": float(f1_score(wrong, flags)) if wrong.any() else None,
        "flagged": float(flags.mean()),
        "noise_rate": noise_rate,
        "noise_rate_error": None if noise_rate is None else noise_rate - float(wrong.mean()),
    }


def calibration_error(errors: Floats, wrong: Flags, bins: int = 15) -> float:
    """Expected calibration error of the probabilities of being wrong, in bins of equal width."""
    places = np.minimum((errors * bins).astype(int), bins - 1)
    apart = np.bincount(places, errors - wrong, bins)  # the difference of sums in each bin
    return float(np.abs(apart).sum() / len(errors))
