"""`LimitClassifier`: LIMIT as a scikit-learn estimator, which also says which training labels look wrong."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from noiselimit.audit.diagnostics import check_learning, count_settings, second_half_agreement
from noiselimit.audit.issues import audit_labels
from noiselimit.audit.plan import BETAS, auto_batch_size, auto_epochs, is_auto
from noiselimit.audit.probabilities import drop_averages, hold_out, predict_all
from noiselimit.audit.validation import GivenLabels
from noiselimit.data.arrays import canonical_inputs
from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError
from noiselimit.inference import Floats, classifier_probabilities
from noiselimit.methods import get_method
from noiselimit.runs.selection import choose
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import Progress, train


class LimitClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that does not memorise wrong labels; `label_issues_` tells which labels those may be.

    X is [n, features], or pictures [n, height, width] or [n, channels, height, width]; y are integers or
    strings. docs/python.md says what the parameters and the fitted attributes are.
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
        tags.input_tags.three_d_array = True  # pictures
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train, choose β and score every label. Examples of weight 0 are scored but not trained on."""
        given, y = validate_data(self, X, y, allow_nd=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, given, ensure_non_negative=True)
        inputs = canonical_inputs(given, "X")
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int | np.integer) or self.seeds < 1:
            raise InputError(f"seeds is {self.seeds!r}: give a whole number ≥ 1.")
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.seeds).tolist()
        held = hold_out(inputs, labels, len(self.classes_), weights, self.validation_share, seeds[0])
        runs = train(
            self._specs(seeds, len(held.trained), inputs[0].size),
            held.data,
            device=self.device,
            threads=effective_n_jobs(self.n_jobs),
            averaged=True,
            progress=self._tell if self.verbose else None,
        )
        chosen = [run for run, counts in zip(runs, choose(runs), strict=True) if counts]
        if not chosen:
            failures = (run.metrics["failure"] for run in runs if run.failed)
            raise InputError(f"training broke down for every beta, because {next(failures)}.")
        said = predict_all(chosen, inputs, labels, held, find_device(str(self.device)))
        apart, given_apart = said.probabilities[held.validated].argmax(1), labels[held.validated]
        agreement = second_half_agreement(
            chosen, apart, given_apart, len(self.classes_), count_settings(runs)
        )
        learned = check_learning(chosen, agreement)
        self.label_issues_ = audit_labels(
            GivenLabels(labels, self.classes_),
            said.probabilities,
            None,
            learned.warning,
            learned.note,
            known_from=said.known_from,
        ).table
        self.label_issues_warning_ = learned.warning
        self.runs_ = [drop_averages(run) for run in chosen]
        self.beta_ = self.runs_[0].spec.hyper.get("beta")
        self.input_shape_ = inputs.shape[1:]
        return self

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """[n, classes] probabilities, columns in the order of `classes_`; the mean over the seeds."""
        check_is_fitted(self)
        inputs = canonical_inputs(validate_data(self, X, allow_nd=True, reset=False), "X")
        if inputs.shape[1:] != self.input_shape_:
            raise InputError(
                f"X has inputs of shape {list(inputs.shape[1:])}, but LimitClassifier was fitted on "
                f"{list(self.input_shape_)}: give inputs like those."
            )
        return classifier_probabilities(self.runs_, inputs)

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """[n] the most probable class of each input."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(1)])

    def _specs(self, seeds: list[int], examples: int, values: int) -> list[RunSpec]:
        choices: dict[str, Any] = {}
        if not is_auto(self.beta):
            choices["beta"] = self.beta
        elif "beta" in get_method(self.method).hyper:
            choices["beta"] = list(BETAS)
        size: Any = self.batch_size
        if is_auto(size):
            size = auto_batch_size(examples, values)
        size = RunSpec(batch_size=size).batch_size  # a whole number, or said to be none
        epochs: Any = self.epochs
        if is_auto(epochs):
            epochs = auto_epochs(examples, size)
        return grid(
            method=self.method,
            seed=seeds,
            network=self.network,
            epochs=epochs,
            patience=RunSpec(epochs=epochs).epochs,
            batch_size=size,
            learning_rate=self.learning_rate,
            optimiser=self.optimiser,
            validation_labels="clean",  # those of the part that `hold_out` set apart
            test_share=0.0,
            **choices,
        )

    def _tell(self, news: Progress) -> None:
        if news.record is None or self.verbose > 1:
            what = "done" if news.record is None else f"validation {news.record['validation_accuracy']:.3f}"
            hyper = "".join(f" {name}={value:g}" for name, value in news.spec.hyper.items())
            print(f"[LimitClassifier] {news.spec.method}{hyper}: {what}, epoch {news.done}/{news.total}")
