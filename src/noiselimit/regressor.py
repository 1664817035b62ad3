"""`LimitRegressor`: LIMIT as a scikit-learn regressor."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from noiselimit.audit.plan import auto_batch_size, is_auto, value_epochs
from noiselimit.data.arrays import Inputs, canonical_inputs
from noiselimit.data.examples import DataSet, make_values, take_examples
from noiselimit.data.fitting import fit_table
from noiselimit.data.memory import encode_gaps
from noiselimit.data.tables import Table, is_table
from noiselimit.errors import InputError, number
from noiselimit.methods import get_method
from noiselimit.randomness import Stream, permutation
from noiselimit.runs.run import Run, choose
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.tasks import Regression
from noiselimit.training import train

Floats = npt.NDArray[np.float64]

MIN_VALIDATION = 10
"""With fewer validation examples, the training examples validate instead."""


class LimitRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that is robust to grossly wrong targets.

    The network learns only from gradients that a second network predicts from the inputs; see
    `noiselimit docs regression`. Targets are scaled by their median and inter-quartile range. X is an array
    [n, features], in which numbers may be missing, or a DataFrame; y are numbers.

    Parameters
    ----------
    method : str, default="limit-l"
        Training method: limit-l, limit-g, mae, huber or ce, which is squared error here.
    beta : float or "auto", default="auto"
        Weight of the gradient penalty. "auto" tries several and chooses by held-out targets.
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

    Attributes
    ----------
    runs_ : list of Run
        The chosen runs, one per seed.
    beta_ : float or None
        The chosen beta; None if the method has none.
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train and choose β.

        Parameters
        ----------
        X : array [n, features] or DataFrame
            Inputs.
        y : array [n]
            Targets.
        sample_weight : array [n], optional
            How much each example counts in training.

        Returns
        -------
        LimitRegressor
            The fitted regressor.
        """
        inputs, y, table = self._encode(X, y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, inputs, ensure_non_negative=True)
        seeds = self._draw_seeds()
        held = _hold_out(inputs, y, weights, self.validation_share, seeds[0])
        runs = train(
            self._specs(seeds, len(held.examples), inputs[0].size),
            replace(held, table=table),
            device=self.device,
            threads=effective_n_jobs(self.n_jobs),
            progress=bool(self.verbose),
        )
        self.runs_ = [run for run, counts in zip(runs, choose(runs), strict=True) if counts]
        if not self.runs_:
            failures = (run.metrics["failure"] for run in runs if run.failed)
            raise InputError(f"training failed for every beta, because {next(failures)}.")
        self.beta_ = self.runs_[0].spec.hyper.get("beta")
        return self

    def _encode(self, X: Any, y: Any) -> tuple[npt.NDArray[Any], Floats, Table | None]:  # noqa: N803
        """Inputs as an array, the targets, and the encoding of a table or of missing numbers."""
        table: Table | None
        if is_table(X) and not _is_plain(X):
            validate_data(self, X, skip_check_array=True)  # remembers the names of the columns
            table = fit_table(X, "X")
            given, y = check_X_y(table.encode(X, "X"), y, y_numeric=True)
        else:
            given, y = validate_data(self, X, y, ensure_all_finite="allow-nan", y_numeric=True)
            given, table = encode_gaps(given, "X")
        return canonical_inputs(given, "X"), np.asarray(y, np.float64), table

    def _draw_seeds(self) -> list[int]:
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int | np.integer) or self.seeds < 1:
            raise InputError(f"seeds is {self.seeds!r}: give a whole number ≥ 1.")
        return list(check_random_state(self.random_state).randint(2**31 - 1, size=self.seeds).tolist())

    def _specs(self, seeds: list[int], examples: int, values: int) -> list[RunSpec]:
        choices: dict[str, Any] = {}
        if not is_auto(self.beta):
            choices["beta"] = self.beta
        elif "beta" in get_method(self.method).hyper:
            choices["beta"] = [3.0, 10.0, 30.0]
        size: Any = auto_batch_size(examples, values) if is_auto(self.batch_size) else self.batch_size
        epochs: Any = value_epochs(examples, size) if is_auto(self.epochs) else self.epochs
        return grid(
            method=self.method,
            seed=seeds,
            network=self.network,
            epochs=epochs,
            patience=RunSpec(epochs=epochs).epochs,
            batch_size=size,
            learning_rate=self.learning_rate,
            optimiser=self.optimiser,
            validation_labels="clean",  # of the part that `_hold_out` set apart
            test_share=0.0,
            **choices,
        )

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Predict the target of each input: the mean over the seeds, and over both networks of LIMIT."""
        check_is_fitted(self)
        run = self.runs_[0]
        if run.data.table is not None and not run.data.table.is_matrix and not isinstance(X, pd.DataFrame):
            raise InputError("LimitRegressor was fitted on a DataFrame: give one with the same columns.")
        if run.data.table is None or run.data.table.is_matrix:
            X = validate_data(self, X, ensure_all_finite="allow-nan", reset=False)  # noqa: N806
        return predict_values(self.runs_, run.encode(X))


def predict_values(runs: Sequence[Run], inputs: Inputs) -> Floats:
    """Mean prediction [n] over runs and over classifier and predictor of each.

    In float64: in float32 a prediction depends on the batch.
    """
    task = runs[0].data.task
    assert isinstance(task, Regression)
    total, count = np.zeros(len(inputs)), 0
    for run in runs:
        # A user's own module may hold float32 constants that do not follow.
        dtype = torch.float32 if run.spec.names_code else torch.float64
        for network in filter(None, (run.model, run.predictor)):
            module = copy.deepcopy(network).to(dtype)
            with torch.inference_mode():
                found = [module(batch.to(dtype))[0] for batch in run.data.batches(inputs)]
            total += torch.cat(found).to(torch.float64)[:, 0].numpy()
            count += 1
    return task.decode(total / count)


def _is_plain(frame: pd.DataFrame) -> bool:
    """Whether a frame holds only numbers, none missing, so that it needs no encoding."""
    return all(map(pd.api.types.is_numeric_dtype, frame.dtypes)) and not frame.isna().any(axis=None)


def _hold_out(
    inputs: npt.NDArray[Any], labels: Floats, weights: Floats | None, share: float, seed: int
) -> DataSet:
    """Hold out a share of the examples for validation; those of weight 0 are left out."""
    share = number("validation_share", share, at_least=0.0, below=1.0)
    used = np.arange(len(labels)) if weights is None else np.flatnonzero(weights > 0)
    scaled = None if weights is None else weights / max(weights.max(), 1e-300)
    everything = make_values(inputs, labels, weights=scaled, source="y")
    order = used[permutation(seed, Stream.SPLIT, 0, len(used))]
    count = round(len(used) * share)
    validated = order[:count] if count >= MIN_VALIDATION else order[:0]
    training = take_examples(everything, np.setdiff1d(used, validated))
    task = Regression.of(training.labels, "y")
    rows = validated if len(validated) else used
    validation = replace(take_examples(everything, rows), task=task, weights=None)
    return DataSet("X", replace(training, task=task), validation=validation)
