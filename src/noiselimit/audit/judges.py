"""Judges beside the networks: classical models that never train on the labels that they judge.

Trees are often better than networks on tables, and neighbours and linear models on pretrained features. They
are cheap, and the label model weighs them. A forest judges out of bag, neighbours without the example itself,
and the other models in five folds.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from noiselimit.audit.label_model import spread_sample
from noiselimit.audit.quality import Labels, Probabilities, chunks
from noiselimit.data.arrays import LazyInputs, Rows, npy_header
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.files import atomic_file, make_folder
from noiselimit.machine import available_cores

FOLDS = 5
TREES, FAST_TREES = 200, 100
TREE_EXAMPLES, FOREST_VALUES = 20_000, 10**8
"""Examples that each tree sees at most, and examples × classes of all trees, to save memory."""
FOLD_EXAMPLES = 50_000
"""Examples that each fold trains on at most."""
SAMPLE = 200_000
"""Examples that judges learn from if features are read from a file."""
BOOSTED_CLASSES, FOREST_CLASSES, LINEAR_CLASSES = 20, 100, 200
"""With more classes a model costs too much time or memory, and is left out."""
BOOSTED_COST, LINEAR_COST = 2 * 10**7, 10**9
"""The same for examples × features × classes."""
PIXELS = 1024
"""Images with more values are judged by networks alone, unless they have pretrained features."""
NEIGHBOURS = 15
MULTIPLICATIONS = 10**12
"""Cost at most of comparing examples with neighbours; beyond, neighbours are found in a sample."""
SMOOTHING = 0.05
"""Votes that every class has among neighbours."""

Inputs = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Task:
    """What a judge learns from."""

    inputs: Inputs
    """[n, features]"""
    labels: Labels
    """[n]; −1 if missing: such examples are judged by a model of all others."""
    classes: int
    seed: int
    fast: bool
    rows: int
    """Number of examples to judge, of which these may be a sample."""

    @property
    def known(self) -> Labels:
        """Rows with a label."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def can_fold(self) -> bool:
        """Whether every fold has at least two classes to learn."""
        *_, second, largest = np.sort(np.bincount(self.labels[self.known], minlength=2))
        return bool(second > 1 and largest >= FOLDS)


class _Classifier(Protocol):
    classes_: Labels

    def fit(self, inputs: Inputs, labels: Labels) -> Any: ...

    def predict_proba(self, inputs: Inputs) -> Probabilities: ...


def judge(
    data: DataSet,
    seed: int = 0,
    *,
    threads: int | None = None,
    fast: bool = False,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Judge every label of the data: name of a judge → class probabilities [n, C], an array or `Rows`.

    If features are read from a file, the judges learn from a sample of `SAMPLE` labels, judge these as usual
    and then all others. Their probabilities are written to files in the `folder`; those there are not made
    again.
    """
    examples, inputs = data.examples, data.examples.inputs
    labels, classes, threads = examples.labels, examples.classes, threads or available_cores()
    if isinstance(inputs, Rows):
        rows = spread_sample(labels >= 0, SAMPLE)
        task = Task(inputs[rows], labels[rows], classes, seed, fast, len(examples))
        name = hashlib.blake2b(f"{data.fingerprint},{seed},{fast}".encode(), digest_size=16).hexdigest()
        place = make_folder((folder or Path(mkdtemp())) / f"judges-{name}")
        return _run(
            task, threads, lambda name, model: _write(place / f"{name}.npy", model, task, inputs, rows)
        )
    if isinstance(inputs, LazyInputs) or (len(examples.input_shape) > 1 and inputs[0].size > PIXELS):
        return {}
    vectors = np.asarray(inputs, np.float32).reshape(len(examples), -1)
    task = Task(vectors, labels, classes, seed, fast, len(examples))
    return _run(task, threads, lambda name, model: model(task)[0])


def _run(task: Task, threads: int, run: Callable[[str, "_Model"], Probabilities | Rows]) -> dict[str, Any]:
    """What `run` makes of each judge's name and model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores|The least populated class")
        # Every model has one thread: results do not depend on their number, and none waits for a busy core.
        with (
            threadpool_limits(1),
            ThreadPoolExecutor(threads, initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            found = {name: pool.submit(run, name, model) for name, model in _choose(task).items()}
            return {name: future.result() for name, future in found.items()}


def _write(path: Path, model: "_Model", task: Task, inputs: Rows, rows: Labels) -> Rows:
    """Probabilities of all inputs by a model of a task whose examples are some `rows` of them."""
    shape = len(inputs), task.classes
    if path.exists():  # before the process was killed
        return Rows(path, shape)
    own, predict = model(task)
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        file.write(npy_header(shape))
        for part in chunks(len(inputs), inputs.shape[1]):
            first, last = np.searchsorted(rows, [part.start, part.stop])
            known, found = rows[first:last] - part.start, np.empty((part.stop - part.start, task.classes))
            found[known] = own[first:last]
            rest = np.delete(np.arange(len(found)), known)
            if len(rest):
                found[rest] = predict(inputs[part][rest])
            file.write(found.astype("<f4").data)
    return Rows(path, shape)


_Predict = Callable[[Inputs], Probabilities]
_Model = Callable[[Task], tuple[Probabilities, _Predict]]
"""Fits a model; returns probabilities of the task's examples, and a function of other inputs."""


def _choose(task: Task) -> dict[str, _Model]:
    """The judges that are worth their cost."""
    found: dict[str, _Model] = {"neighbours": _neighbours}
    if task.classes <= FOREST_CLASSES:
        found["forest"] = _forest
    cost = task.inputs.size * task.classes
    if task.can_fold and task.classes <= LINEAR_CLASSES and cost <= LINEAR_COST:
        found["logistic regression"] = _linear
    if task.can_fold and task.classes <= BOOSTED_CLASSES and cost <= BOOSTED_COST and not task.fast:
        found["boosting"] = _boosting
    return found


def _forest(task: Task) -> tuple[Probabilities, _Predict]:
    """Out-of-bag probabilities of extremely randomised trees."""
    known, trees = task.known, FAST_TREES if task.fast else TREES
    most = min(TREE_EXAMPLES, FOREST_VALUES // (trees * task.classes))
    forest = ExtraTreesClassifier(
        trees,
        bootstrap=True,
        oob_score=True,
        max_samples=min(most, len(known)),
        random_state=task.seed,
    )
    forest.fit(task.inputs[known], task.labels[known])
    found = np.zeros((len(task.labels), task.classes), np.float32)
    # An example that was in every bag has no votes, and is judged by the frequencies of the classes.
    usual = np.bincount(task.labels[known])[forest.classes_] / len(known)
    votes = forest.oob_decision_function_
    found[np.ix_(known, forest.classes_)] = np.where(np.isnan(votes), usual, votes)
    return _add_unlabelled(found, forest, task)


def _boosting(task: Task) -> tuple[Probabilities, _Predict]:
    def make(labels: Labels) -> _Classifier:
        counts = np.bincount(labels)
        # The part that decides when to stop must hold every class.
        can_stop = counts[counts > 0].min() > 1 and len(labels) >= 20 * task.classes
        model: _Classifier = HistGradientBoostingClassifier(
            early_stopping=bool(can_stop), n_iter_no_change=5, random_state=task.seed
        )
        return model

    return _out_of_fold(task, make)


def _linear(task: Task) -> tuple[Probabilities, _Predict]:
    def make(labels: Labels) -> _Classifier:
        model: _Classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
        return model

    return _out_of_fold(task, make)


def _out_of_fold(task: Task, make: Callable[[Labels], _Classifier]) -> tuple[Probabilities, _Predict]:
    """Probabilities of the model that did not train on the example's fold."""
    found = np.zeros((len(task.labels), task.classes), np.float32)
    for train, held_out in _folds(task):
        model = make(task.labels[train])
        model.fit(task.inputs[train], task.labels[train])
        found[np.ix_(held_out, model.classes_)] = model.predict_proba(task.inputs[held_out])
    return _add_unlabelled(found, model, task)


def _folds(task: Task) -> Iterator[tuple[Labels, Labels]]:
    known = task.known
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=task.seed)
    for train, held_out in folds.split(known, task.labels[known]):
        step = -(-len(train) // FOLD_EXAMPLES)
        yield known[train[::step]], known[held_out]


def _add_unlabelled(found: Probabilities, model: _Classifier, task: Task) -> tuple[Probabilities, _Predict]:
    def predict(inputs: Inputs) -> Probabilities:
        result = np.zeros((len(inputs), task.classes), np.float32)
        result[:, model.classes_] = model.predict_proba(inputs)
        return result

    rest = np.flatnonzero(task.labels < 0)
    if len(rest):
        found[rest] = predict(task.inputs[rest])
    return found, predict


def _neighbours(task: Task) -> tuple[Probabilities, _Predict]:
    """Votes of the nearest labelled examples, weighted by distance."""
    scaler = StandardScaler()
    inputs = scaler.fit_transform(task.inputs)
    most = MULTIPLICATIONS // (task.rows * inputs.shape[1])
    among = task.known[:: -(-len(task.known) // max(most, 1000))]
    index = NearestNeighbors(n_neighbors=min(NEIGHBOURS + 1, len(among)))
    distances, places = index.fit(inputs[among]).kneighbors(inputs)
    itself = among[places] == np.arange(len(inputs))[:, np.newaxis]
    usual = max(np.median(distances[:, -1]), 1e-6)

    def count(distances: Inputs, places: Labels, itself: Any) -> Probabilities:
        votes = np.exp(-((distances / usual) ** 2)) + 1e-3
        votes[itself] = 0.0
        found = np.full((len(places), task.classes), SMOOTHING, np.float32)
        for rank in range(votes.shape[1]):
            found[np.arange(len(places)), task.labels[among[places[:, rank]]]] += votes[:, rank]
        return np.asarray(found / found.sum(1, keepdims=True))

    def predict(others: Inputs) -> Probabilities:
        distances, places = index.kneighbors(scaler.transform(others))
        return count(distances, places, np.zeros(places.shape, bool))

    return count(distances, places, itself), predict


def cross_fit(
    model: Any, inputs: Inputs, labels: Labels, classes: int, seed: int, weights: Any = None
) -> tuple[Probabilities, Any]:
    """Judge labels [n] with a scikit-learn classifier, and fit a copy of it to all of them.

    The probabilities [n, C] come from five folds: no row was judged by a model that trained on it. Rows of
    weight 0 train no model and are judged by the copy that is returned. Other weights count if the model's
    `fit` takes them.
    """
    if isinstance(model, type) or not hasattr(model, "predict_proba"):
        raise InputError(f"predictor is {model!r}: give a classifier, fitted or not, with predict_proba.")
    used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights > 0)
    known, values = labels[used], inputs[used]
    if np.bincount(known).max() < FOLDS:
        raise InputError(f"y has no class with {FOLDS} examples, which predictor needs for {FOLDS} folds.")
    weighs = weights is not None and has_fit_parameter(model, "sample_weight")
    params = {"sample_weight": weights[used]} if weighs else {}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class|Number of classes in training fold")
        predicted = cross_val_predict(model, values, known, cv=folds, method="predict_proba", params=params)
    fitted = clone(model).fit(values, known, **params)
    found = np.zeros((len(labels), classes), np.float32)
    found[np.ix_(used, fitted.classes_)] = predicted
    if len(used) < len(labels):
        rest = np.setdiff1d(np.arange(len(labels)), used)
        found[np.ix_(rest, fitted.classes_)] = fitted.predict_proba(inputs[rest])
    return found, fitted
