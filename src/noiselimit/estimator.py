"""`LimitClassifier`: LIMIT as a scikit-learn classifier that also finds label errors."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from noiselimit.audit.calibration import (
    average_runs,
    drop_averages,
    is_memorised,
    match_quantiles,
    off_label_mass,
    with_off_label_mass,
)
from noiselimit.audit.diagnostics import check_agreement, check_learning, count_settings
from noiselimit.audit.find import with_index
from noiselimit.audit.issues import GivenLabels, audit_labels
from noiselimit.audit.judges import cross_fit
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.noise_rate import Agreement, agreement
from noiselimit.audit.plan import auto_batch_size, auto_epochs, is_auto
from noiselimit.data.arrays import Inputs, canonical_inputs
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.fitting import fit_table
from noiselimit.data.memory import encode_gaps, from_memory
from noiselimit.data.tables import Table, is_table
from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError, number
from noiselimit.features.pictures import PictureFeatures
from noiselimit.features.texts import TextFeatures
from noiselimit.methods import get_method, method_name
from noiselimit.progress import embedding_progress
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.run import Run, choose, mean_probabilities
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

Floats = npt.NDArray[np.float64]


class LimitClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that does not memorise wrong labels and finds label errors.

    X is an array [n, features]; images [n, height, width] or [n, channels, height, width], or a list of
    them; a list of texts; or a DataFrame with numbers, names, dates and text. Numbers may be missing. y are
    integers or strings.

    Parameters
    ----------
    method : str, default="limit-l"
        Training method, as in `RunSpec`.
    beta : float or "auto", default="auto"
        Weight of the gradient penalty. "auto" tries several and chooses by held-out labels.
    seeds : int, default=1
        Number of runs to average.
    network : str, default="auto"
        A built-in network, or "package.module:factory" of your own.
    epochs, batch_size : int or "auto", default="auto"
        "auto" chooses them from the number of examples.
    learning_rate : float, default=0.001
        Learning rate of both networks.
    optimiser : {"adam", "sgd"}, default="adam"
        Optimiser of both networks.
    validation_share : float, default=0.2
        Share of the examples held out to choose the epoch and beta.
    random_state : int, RandomState or None, default=None
        An integer gives the same result every time on one device.
    device : str, default="auto"
        "auto", "cpu" or "cuda".
    n_jobs : int or None, default=None
        Number of CPU cores; does not change the result.
    verbose : int, default=0
        Above 0, show the progress on stderr.
    features : str, default="auto"
        Pretrained features of images and texts, as in `find_label_issues`.
    predictor : scikit-learn classifier, optional
        A model with `predict_proba` that takes the place of LIMIT's network q. It predicts each example in
        five folds, without its label. The classifier learns only softmax(a) − s(x), the gradient that these
        probabilities s predict, and sees no label; `method` and `beta` then have no effect. `random_state`
        sets the folds, but not the predictor's own. It gets the encoded inputs as an array [n, values], and
        `sample_weight` if its `fit` takes it.

    Attributes
    ----------
    classes_ : array [n_classes]
        The classes.
    label_issues_ : DataFrame
        One row per example: is_label_issue, label_quality, predicted_label, …, and identifiers and texts of a
        DataFrame.
    label_issues_warning_ : str or None
        Why no label is flagged.
    runs_ : list of Run
        The chosen runs, one per seed.
    beta_ : float or None
        The chosen beta; None if the method has none.
    predictor_probabilities_ : array [n, n_classes]
        With `predictor`: its probabilities of each example, from the fold that did not train on it.
        `label_issues_` is made from them.
    predictor_ : classifier
        With `predictor`: the model fitted to all examples, for new inputs. `fit` uses it only for examples
        of weight 0.
    """

    def __init__(
        self,
        method: str = "limit-l",
        beta: float | str = "auto",
        seeds: int = 1,
        network: str = "auto",
        epochs: int | str = "auto",
        batch_size: int | str = "auto",
        learning_rate: float = 1e-3,
        optimiser: str = "adam",
        validation_share: float = 0.2,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        features: str = "auto",
        predictor: Any = None,
    ) -> None:
        self.method = method
        self.beta = beta
        self.seeds = seeds
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.optimiser = optimiser
        self.validation_share = validation_share
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.features = features
        self.predictor = predictor

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True  # images
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train, choose β and score every label.

        Parameters
        ----------
        X : array [n, ...], DataFrame, list of images or texts, or Dataset
            Inputs, as in `find_label_issues`.
        y : array [n], optional
            Labels; None if X holds them.
        sample_weight : array [n], optional
            Examples of weight 0 are scored but not trained on.

        Returns
        -------
        LimitClassifier
            The fitted classifier.
        """
        frozen = PictureFeatures(self.features, self.network, self.device)
        X, y = from_memory(X, y, frozen.stack)  # noqa: N806
        if y is not None and pd.isna(np.asarray(y)).any():
            raise InputError(
                "y contains NaN or None: leave rows without a label out, or use find_label_issues."
            )
        given, known, table = self._encode(X, y)
        check_classification_targets(known)
        self.classes_, labels = np.unique(known, return_inverse=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, given, ensure_non_negative=True)
        with embedding_progress(not self.verbose) as show:
            inputs, embedding = frozen.embed(canonical_inputs(given, "X"), show)
        seeds = self._draw_seeds()
        targets = self._predict_folds(inputs, labels, seeds[0], weights)
        share, count = self.validation_share, len(self.classes_)
        held = hold_out(inputs, labels, count, weights, share, seeds[0], targets)
        data = replace(held.data, table=table, embedding=embedding)
        runs = train(
            self._specs(seeds, len(held.trained), inputs[0].size),
            data,
            device=self.device,
            threads=effective_n_jobs(self.n_jobs),
            averaged=targets is None,
            progress=bool(self.verbose),
        )
        chosen = [run for run, counts in zip(runs, choose(runs), strict=True) if counts]
        if not chosen:
            failures = (run.metrics["failure"] for run in runs if run.failed)
            raise InputError(f"training failed for every beta, because {next(failures)}.")
        if targets is not None:
            probabilities, known_from, note = targets, len(labels), None
            warning = check_agreement(agreement(targets.argmax(1), labels, count))
        else:
            device = find_device(str(self.device))
            probabilities, known_from = predict_all(chosen, inputs, labels, held, device)
            agreed = second_half_agreement(chosen, probabilities, labels, held, count_settings(runs))
            warning, note = check_learning(chosen, agreed)
        audit = audit_labels(
            GivenLabels(labels, self.classes_),
            fit_label_model([probabilities], labels),
            warning=warning,
            note=note,
            known_from=known_from,
        )
        kept = table.kept(X) if table is not None and isinstance(X, pd.DataFrame) else {}
        self.label_issues_ = with_index(audit.table.assign(**kept), X, y)
        self.label_issues_warning_ = warning
        self.runs_ = [drop_averages(run) for run in chosen]
        self.beta_ = self.runs_[0].spec.hyper.get("beta")
        return self

    def _encode(self, X: Any, y: Any) -> tuple[Any, Any, Table | None]:  # noqa: N803
        """Inputs as an array, the labels, and the encoding of a table or of missing numbers."""
        with embedding_progress(not self.verbose) as show:
            table = _fit_table(X, TextFeatures(self.features, progress=show))
        if table is None:
            given, y = validate_data(self, X, y, allow_nd=True, ensure_all_finite="allow-nan")
            given, table = encode_gaps(given, "X")
        else:
            validate_data(self, X, skip_check_array=True)  # remembers the names of the columns
            given, y = check_X_y(table.encode(X, "X"), y)
        return given, y, table

    def _predict_folds(
        self, inputs: npt.NDArray[np.generic], labels: "Rows", seed: int, weights: "Weights | None"
    ) -> npt.NDArray[np.float32] | None:
        """Probabilities of the predictor in five folds; None without one."""
        if self.predictor is None:
            return None
        values = np.asarray(inputs, np.float32).reshape(len(inputs), -1)
        found, self.predictor_ = cross_fit(self.predictor, values, labels, len(self.classes_), seed, weights)
        self.predictor_probabilities_ = found
        return found

    def _draw_seeds(self) -> list[int]:
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int | np.integer) or self.seeds < 1:
            raise InputError(f"seeds is {self.seeds!r}: give a whole number ≥ 1.")
        return list(check_random_state(self.random_state).randint(2**31 - 1, size=self.seeds).tolist())

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Predict class probabilities [n, classes], in the order of `classes_`: the mean over the seeds."""
        check_is_fitted(self)
        run = self.runs_[0]
        given, _ = from_memory(X, (), run.stack)
        table = run.data.table
        if table is None or (table.is_matrix and not is_table(given)):
            given = validate_data(self, given, allow_nd=True, ensure_all_finite="allow-nan", reset=False)
        elif not isinstance(given, pd.DataFrame):
            raise InputError("LimitClassifier was fitted on a DataFrame: give one with the same columns.")
        inputs = run.encode(given)
        if inputs.shape[1:] != run.data.input_shape:
            raise InputError(
                f"X has inputs of shape {list(inputs.shape[1:])}, but LimitClassifier was fitted on "
                f"{list(run.data.input_shape)}: give inputs like those."
            )
        return np.asarray(np.mean([_probabilities(run, inputs) for run in self.runs_], axis=0), np.float64)

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Predict the most probable class of each input."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(1)])

    def _specs(self, seeds: list[int], examples: int, values: int) -> list[RunSpec]:
        choices: dict[str, Any] = {}
        method = self.method
        if self.predictor is not None:
            method = "ce"  # whose gradient is softmax(a) − s if the labels are probabilities s
        elif not is_auto(self.beta):
            choices["beta"] = self.beta
        elif "beta" in get_method(method_name(method)).hyper:
            choices["beta"] = [3.0, 10.0, 30.0]
        size: Any = auto_batch_size(examples, values) if is_auto(self.batch_size) else self.batch_size
        size = RunSpec(batch_size=size).batch_size  # raises unless it is a whole number
        epochs: Any = auto_epochs(examples, size) if is_auto(self.epochs) else self.epochs
        return grid(
            method=method,
            seed=seeds,
            network=self.network,
            epochs=epochs,
            patience=RunSpec(epochs=epochs).epochs,
            batch_size=size,
            learning_rate=self.learning_rate,
            optimiser=self.optimiser,
            validation_labels="clean",  # of the part that `hold_out` set apart
            test_share=0.0,
            **choices,
        )


def _fit_table(inputs: Any, text: TextFeatures) -> Table | None:
    """How to encode a DataFrame; None for arrays, and for frames of numbers only, which need no encoding."""
    if not is_table(inputs):
        return None
    plain = all(pd.api.types.is_numeric_dtype(dtype) for dtype in inputs.dtypes)
    if plain and not inputs.isna().any(axis=None):
        return None
    return fit_table(inputs, "X", text)


MIN_VALIDATION = 10
"""With fewer validation examples, the training examples validate instead."""
COPIES, MAX_COPIES = 4, 10_000
"""Copies of a validation example of average weight, and a limit for the number of all copies."""

Rows = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Data split for training, with the rows of each part."""

    data: DataSet
    trained: Rows
    """Rows of the inputs to train on, in order."""
    validated: Rows
    """Rows held out; empty if there are too few."""


def hold_out(
    inputs: npt.NDArray[np.generic],
    labels: Rows,
    classes: int,
    weights: Weights | None,
    share: float,
    seed: int,
    targets: npt.NDArray[np.float32] | None = None,
) -> HoldOut:
    """Hold out a share of the examples for validation; every class keeps an example to train on.

    Examples of weight 0 are left out. Validation counts examples in proportion to their weights. If there
    are `targets` [n, C], training learns them, and validation compares with the class most probable there.
    """
    share = number("validation_share", share, at_least=0.0, below=1.0)
    used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights > 0)
    if len(np.unique(labels[used])) < 2:
        which = "" if weights is None else " with a weight above 0"
        raise InputError(f"y has only one class{which}: give examples of at least two classes.")
    if targets is not None:
        labels = targets.argmax(1)
    validated = used[_validation_rows(labels[used], share, seed)]
    trained = np.setdiff1d(used, validated)
    how: dict[str, Any] = {
        "class_names": [str(number) for number in range(classes)],
        "source": "X",
        "may_lack_classes": True,
    }
    scaled = None if weights is None else weights[trained] / weights[trained].max()
    training = make_examples(inputs[trained], labels[trained], weights=scaled, **how)
    if targets is not None:
        training = replace(training, targets=targets[trained])
    rows = validated if len(validated) else trained
    if weights is not None:
        rows = _repeat_by_weight(rows, weights[rows])
    validation = make_examples(inputs[rows], labels[rows], **how)
    return HoldOut(DataSet("X", training, validation=validation), trained, validated)


def _repeat_by_weight(rows: Rows, weights: Weights) -> Rows:
    """Repeat rows in proportion to their weights, because validation itself ignores weights."""
    if (weights == weights[0]).all():
        return rows
    ends = np.cumsum(weights / weights.max())
    count = max(len(rows), min(COPIES * len(rows), MAX_COPIES))
    places = (np.arange(count) + 0.5) / count * ends[-1]
    return np.asarray(rows[np.searchsorted(ends, places)], np.int64)


def _validation_rows(labels: Rows, share: float, seed: int) -> Rows:
    """A share of the rows, spread evenly over the classes, without the last one of any class."""
    count = round(len(labels) * share)
    order = permutation(seed, Stream.SPLIT, 0, len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    first = np.diff(labels[by_class], prepend=-1) != 0
    free = by_class[~first]
    count = min(count, len(free))
    if count < MIN_VALIDATION:
        count = 0
    places = (np.arange(count) + 0.5) * len(free) / max(count, 1)
    return np.asarray(free[places.astype(np.int64)], np.int64)


def predict_all(
    runs: Sequence[Run],
    inputs: npt.NDArray[np.generic],
    labels: Rows,
    held: HoldOut,
    device: torch.device,
) -> tuple[npt.NDArray[np.float32], int]:
    """Probabilities [n, C] of all inputs, and the number of examples that a noise rate rests on.

    Training examples get the averages over epochs, all others the predictions of the final weights. Whether
    labels were memorised is tested with the final weights, which predict both parts in the same way.
    """
    trained, validated = held.trained, held.validated
    probabilities = np.asarray(mean_probabilities(runs, inputs, device), np.float32)
    by_weights = off_label_mass(probabilities, labels)
    no_rows = [trained[:0]] * len(runs)
    probabilities[trained] = average_runs(runs, labels[trained], no_rows)[0]
    if not is_memorised(by_weights[trained], by_weights[validated]):
        return probabilities, len(labels)
    mass = match_quantiles(off_label_mass(probabilities, labels), trained, validated)
    return with_off_label_mass(probabilities, labels, mass), len(validated)


def second_half_agreement(
    runs: Sequence[Run], probabilities: npt.NDArray[np.float32], labels: Rows, held: HoldOut, settings: int
) -> Agreement | None:
    """Agreement of the chosen runs with held-out labels; None if none were held out.

    These labels chose the best epoch, which makes the final agreement too high, so the share is the mean over
    the second half of the epochs.
    """
    if not len(held.validated):
        return None
    found = agreement(probabilities[held.validated].argmax(1), labels[held.validated], probabilities.shape[1])
    later = [
        float(record["validation_accuracy"] or 0.0)
        for run in runs
        for record in run.history[len(run.history) // 2 :]
    ]
    return replace(found, share=fmean(later), settings=settings)


def _probabilities(run: Run, inputs: Inputs) -> Floats:
    """The classifier's probabilities [n, C], in float64: in float32 they depend on the batch."""
    # A user's own module may hold float32 constants that do not follow.
    dtype = torch.float32 if run.spec.names_code else torch.float64
    model = copy.deepcopy(run.model).to(dtype)
    with torch.inference_mode():
        found = [
            model(batch.to(dtype))[0].to(torch.float64).softmax(-1) for batch in run.data.batches(inputs)
        ]
    return np.asarray(torch.cat(found).numpy(), np.float64)
