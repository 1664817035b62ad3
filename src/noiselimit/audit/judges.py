"""Judges beside the networks: classical models that never train on the labels that they judge.

Trees are often better than networks on tables, and neighbours and linear models on pretrained features. They
are cheap, and the label model weighs them. A forest judges out of bag, neighbours without the example itself,
and the other models in five folds.
"""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

from noiselimit.audit.quality import Labels, Probabilities
from noiselimit.data.arrays import LazyInputs
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.machine import available_cores

FOLDS = 5
TREES, FAST_TREES = 200, 100
TREE_EXAMPLES, FOREST_VALUES = 20_000, 10**8
"""Examples that each tree sees at most, and examples × classes of all trees, to save memory."""
FOLD_EXAMPLES = 50_000
"""Examples that each fold trains on at most."""
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
    data: DataSet, seed: int = 0, *, threads: int | None = None, fast: bool = False
) -> dict[str, Probabilities]:
    """Judge every label of the data: name of a judge → class probabilities [n, C]."""
    examples = data.examples
    if isinstance(examples.inputs, LazyInputs) or (
        len(examples.input_shape) > 1 and examples.inputs[0].size > PIXELS
    ):
        return {}
    inputs = np.asarray(examples.inputs, np.float32).reshape(len(examples), -1)
    task = Task(inputs, examples.labels, examples.classes, seed, fast)
    threads = threads or available_cores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores|The least populated class")
        # Every model has one thread: results do not depend on their number, and none waits for a busy core.
        with (
            threadpool_limits(1),
            ThreadPoolExecutor(threads, initializer=threadpool_limits, initargs=(1,)) as pool,
        ):
            found = {name: pool.submit(model, task) for name, model in _choose(task).items()}
            return {name: future.result() for name, future in found.items()}


def _choose(task: Task) -> dict[str, Callable[[Task], Probabilities]]:
    """The judges that are worth their cost."""
    found: dict[str, Callable[[Task], Probabilities]] = {"neighbours": _neighbours}
    if task.classes <= FOREST_CLASSES:
        found["forest"] = _forest
    cost = task.inputs.size * task.classes
    if task.can_fold and task.classes <= LINEAR_CLASSES and cost <= LINEAR_COST:
        found["logistic regression"] = _linear
    if task.can_fold and task.classes <= BOOSTED_CLASSES and cost <= BOOSTED_COST and not task.fast:
        found["boosting"] = _boosting
    return found


def _forest(task: Task) -> Probabilities:
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


def _boosting(task: Task) -> Probabilities:
    def make(labels: Labels) -> _Classifier:
        counts = np.bincount(labels)
        # The part that decides when to stop must hold every class.
        can_stop = counts[counts > 0].min() > 1 and len(labels) >= 20 * task.classes
        model: _Classifier = HistGradientBoostingClassifier(
            early_stopping=bool(can_stop), n_iter_no_change=5, random_state=task.seed
        )
        return model

    return _out_of_fold(task, make)


def _linear(task: Task) -> Probabilities:
    def make(labels: Labels) -> _Classifier:
        model: _Classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
        return model

    return _out_of_fold(task, make)


def _out_of_fold(task: Task, make: Callable[[Labels], _Classifier]) -> Probabilities:
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


def _add_unlabelled(found: Probabilities, model: _Classifier, task: Task) -> Probabilities:
    rest = np.flatnonzero(task.labels < 0)
    if len(rest):
        found[np.ix_(rest, model.classes_)] = model.predict_proba(task.inputs[rest])
    return found


def _neighbours(task: Task) -> Probabilities:
    """Votes of the nearest labelled examples, weighted by distance."""
    inputs = StandardScaler().fit_transform(task.inputs)
    most = MULTIPLICATIONS // (len(inputs) * inputs.shape[1])
    among = task.known[:: -(-len(task.known) // max(most, 1000))]
    index = NearestNeighbors(n_neighbors=min(NEIGHBOURS + 1, len(among)))
    distances, places = index.fit(inputs[among]).kneighbors(inputs)
    rows, itself = among[places], among[places] == np.arange(len(inputs))[:, np.newaxis]
    usual = np.median(distances[:, -1])
    votes = np.exp(-((distances / max(usual, 1e-6)) ** 2)) + 1e-3
    votes[itself] = 0.0
    found = np.full((len(inputs), task.classes), SMOOTHING, np.float32)
    for rank in range(votes.shape[1]):
        found[np.arange(len(inputs)), task.labels[rows[:, rank]]] += votes[:, rank]
    return np.asarray(found / found.sum(1, keepdims=True))


def cross_fit(
    model: Any, inputs: Inputs, labels: Labels, classes: int, seed: int, weights: Any = None
) -> tuple[Probabilities, Any]:
    """Judge labels [n] with a scikit-learn classifier, and fit a copy of it to all of them.

    The probabilities [n, C] come from five folds: no row was judged by a model that trained on it. Rows of
    weight 0 train no model and are judged by the copy that is returned. Other weights count if the model's
    `fit` takes them.
    """
    if not hasattr(model, "predict_proba"):
        raise InputError(f"predictor {model!r} has no predict_proba: give a classifier that has.")
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
