"""Judges beside the networks for regression: models that never train on the label that they judge.

Boosting with absolute error comes first, because gross errors hardly move it. For the other judges, labels
are drawn towards its predictions where they are farther off than usual.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from noiselimit.audit.judges import FAST_TREES, FOLDS, NEIGHBOURS, TREE_EXAMPLES, TREES
from noiselimit.audit.quality import Floats, Labels
from noiselimit.machine import available_cores

FAR = 4.0
"""Residuals count up to so many times their median size."""
NEIGHBOUR_EXAMPLES = 50_000
"""With more labelled examples, there is no judge by neighbours."""
PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)

Inputs = npt.NDArray[np.float32]


def judge_values(
    inputs: Inputs, labels: Floats, seed: int = 0, *, threads: int | None = None, fast: bool = False
) -> dict[str, Floats]:
    """Predict every label [n], in units of the task's scale and NaN where missing: judge → values [n]."""
    known, threads = np.flatnonzero(~np.isnan(labels)), threads or available_cores()
    with (
        threadpool_limits(1),
        ThreadPoolExecutor(threads, initializer=threadpool_limits, initargs=(1,)) as pool,
    ):

        def boosting() -> Any:
            stop = len(known) >= 1000
            return HistGradientBoostingRegressor(
                loss="absolute_error", early_stopping=stop, random_state=seed, max_iter=60 if fast else 100
            )

        first = _out_of_fold(boosting, inputs, labels, known, seed, pool)
        tame = labels.copy()
        residual = labels[known] - first[known]
        most = FAR * max(float(np.median(np.abs(residual))), 1e-9)
        tame[known] = first[known] + np.clip(residual, -most, most)
        found = {"boosting": first}
        found["forest"] = _forest(inputs, tame, known, seed, FAST_TREES if fast else TREES)

        def ridge() -> Any:
            return make_pipeline(StandardScaler(), RidgeCV(PENALTIES))

        found["ridge regression"] = _out_of_fold(ridge, inputs, tame, known, seed, pool)
        if len(known) <= NEIGHBOUR_EXAMPLES and len(known) > 2 * NEIGHBOURS:

            def neighbours() -> Any:
                return make_pipeline(StandardScaler(), KNeighborsRegressor(NEIGHBOURS, weights="distance"))

            found["neighbours"] = _out_of_fold(neighbours, inputs, tame, known, seed, pool)
    return found


def _out_of_fold(
    make: Callable[[], Any],
    inputs: Inputs,
    labels: Floats,
    known: Labels,
    seed: int,
    pool: ThreadPoolExecutor,
) -> Floats:
    """[n]: predictions of models that did not train on the example's fold; without a label, of the last."""
    found = np.empty(len(labels))
    rest = np.flatnonzero(np.isnan(labels))

    def fit(train: Labels, held_out: Labels) -> None:
        model = make().fit(inputs[known[train]], labels[known[train]])
        found[known[held_out]] = model.predict(inputs[known[held_out]])

    folds = KFold(FOLDS, shuffle=True, random_state=seed).split(known)
    for future in [pool.submit(fit, *fold) for fold in folds]:
        future.result()
    if len(rest):
        found[rest] = make().fit(inputs[known], labels[known]).predict(inputs[rest])
    return found


def _forest(inputs: Inputs, labels: Floats, known: Labels, seed: int, trees: int) -> Floats:
    """Out-of-bag predictions of extremely randomised trees."""
    forest = ExtraTreesRegressor(
        trees,
        bootstrap=True,
        oob_score=True,
        min_samples_leaf=2,
        max_samples=min(TREE_EXAMPLES, len(known)),
        random_state=seed,
    )
    forest.fit(inputs[known], labels[known])
    found = np.empty(len(labels))
    found[known] = forest.oob_prediction_
    rest = np.flatnonzero(np.isnan(labels))
    if len(rest):
        found[rest] = forest.predict(inputs[rest])
    return found
