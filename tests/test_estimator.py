"""The estimator keeps scikit-learn's contract and finds label errors."""

import dataclasses
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import Tensor, nn

from noiselimit import InputError, LimitClassifier
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.quality import measure
from noiselimit.data.examples import DataSet
from noiselimit.estimator import COPIES, MIN_VALIDATION, HoldOut, hold_out, second_half_agreement
from noiselimit.training import train

EXPECTED_FAILURES = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "a weight scales an example's gradient; batches, batch-norm, standardisation and who is set apart "
        "follow from the number of examples, which repetition changes"
    )
    for kind in ("dense", "sparse")
}


@pytest.mark.slow
@parametrize_with_checks([LimitClassifier()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


class Scaled(nn.Module):
    """Has a constant in float32 that no conversion of the module reaches."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = x @ torch.eye(x.shape[-1])
        return self.head(features), features


def own_network(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    return Scaled(input_shape[0], classes)


def quick(**settings: Any) -> LimitClassifier:
    return LimitClassifier(**{"beta": 10, "epochs": 12, "batch_size": 64, "random_state": 0, **settings})


def arrays(blobs: DataSet) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.asarray(blobs.examples.inputs), np.asarray(blobs.examples.labels)


def test_wrong_labels_are_found(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    names = np.array(["pear", "apple", "fig"])
    given = labels.copy()
    wrong = np.arange(0, len(labels), 10)
    given[wrong] = (labels[wrong] + 1) % 3
    fitted = quick(epochs=30).fit(inputs, names[given])
    issues = fitted.label_issues_
    assert list(fitted.classes_) == ["apple", "fig", "pear"]
    assert list(issues["given_label"]) == list(names[given])
    assert (issues["predicted_label"][wrong] == names[labels[wrong]]).mean() > 0.8
    assert fitted.score(inputs, names[labels]) > 0.9
    flagged = issues["is_label_issue"]
    assert flagged[wrong].mean() > 0.7
    assert flagged.drop(wrong).mean() < 0.05
    assert issues.attrs["wrong_labels"] == pytest.approx(len(wrong), abs=4)
    assert all(run.averaged is None for run in fitted.runs_)


def test_labels_that_cannot_be_learned_are_not_flagged(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    generator = np.random.default_rng(0)
    fitted = quick(beta="auto").fit(generator.normal(size=(150, 4)), generator.integers(0, 2, 150))
    assert fitted.label_issues_warning_ is not None
    assert "learned next to nothing" in fitted.label_issues_warning_
    assert not fitted.label_issues_["is_label_issue"].any()
    assert fitted.label_issues_.attrs["warning"] == fitted.label_issues_warning_
    assert quick(epochs=30).fit(inputs, labels).label_issues_warning_ is None
    unchecked = quick(validation_share=0).fit(inputs, labels)
    assert "No labels were held out" in str(unchecked.label_issues_warning_)
    assert not unchecked.label_issues_["is_label_issue"].any()


def test_scores_come_from_averages_in_training_and_from_weights_elsewhere(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    fitted = quick(epochs=3).fit(inputs, labels)
    spec = dataclasses.replace(fitted.runs_[0].spec, data=None)
    held = hold_out(inputs.astype(np.float32), labels, 3, None, 0.2, spec.seed)
    (run,) = train(spec, held.data, averaged=True)
    assert run.averaged is not None
    assert run.averaged.predictor is not None
    mean = (run.averaged.classifier + run.averaged.predictor) / 2
    rest = np.setdiff1d(np.arange(len(labels)), held.trained)
    assert len(rest) == 30
    assert run.predictor is not None
    with torch.inference_mode():
        ready = run.data.standardised(inputs[rest].astype(np.float32))
        both = sum(network(ready)[0].softmax(-1).numpy() for network in (run.model, run.predictor)) / 2
    expected = np.empty((len(labels), 3), np.float32)
    expected[held.trained], expected[rest] = mean, both
    found = measure(fit_label_model([expected], labels), labels)
    np.testing.assert_allclose(fitted.label_issues_["gap"], found.gap, atol=1e-4)


def test_beta_is_chosen_by_validation_if_the_method_has_one(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    chosen = quick(beta="auto", epochs=2).fit(inputs, labels)
    assert chosen.beta_ in (3.0, 10.0, 30.0)
    assert quick(beta=7, epochs=1).fit(inputs, labels).beta_ == 7
    assert quick(method="ce", beta="auto", epochs=1).fit(inputs, labels).beta_ is None


@pytest.mark.parametrize("form", ["grey", "channels"])
def test_pictures(tiny_images: DataSet, form: str) -> None:
    pictures, labels = arrays(tiny_images)
    given = pictures[:, 0] if form == "grey" else pictures
    fitted = quick().fit(given, labels)
    assert fitted.runs_[0].spec.network == "small-cnn"
    assert fitted.score(given, labels) > 0.9
    assert len(fitted.label_issues_) == len(labels)
    with pytest.raises(InputError, match="was fitted on"):
        fitted.predict(given[..., :7])


def test_pickles_clones_and_repeats(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    frame = pd.DataFrame(inputs, columns=list("abcde"))
    fitted = quick(epochs=2).fit(frame, labels)
    assert list(fitted.feature_names_in_) == list("abcde")
    expected = fitted.predict_proba(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(frame), expected)
    again = clone(fitted).fit(frame, labels)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    other = clone(fitted).set_params(random_state=1).fit(frame, labels)
    assert np.abs(other.predict_proba(frame) - expected).max() > 1e-3


def test_a_table_of_mixed_columns(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    frame = pd.DataFrame(inputs, columns=list("abcde"), index=np.arange(len(labels))[::-1])
    frame = frame.assign(key=np.arange(len(labels)), town=np.resize(["Rome", "Oslo", ""], len(labels)))
    frame.iloc[:9, 0] = np.nan
    fitted = quick(epochs=20).fit(frame, labels)
    assert fitted.label_issues_.index.equals(frame.index)
    assert fitted.label_issues_["id_key"].tolist() == frame["key"].tolist()
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert fitted.score(frame, labels) > 0.8
    new = frame[["town", "e", "d", "c", "b", "a"]][:4].assign(town="Bern", b=None)
    assert np.isfinite(fitted.predict_proba(new)).all()
    with pytest.raises(InputError, match="DataFrame"):
        fitted.predict(inputs)


def test_missing_numbers_in_arrays(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    inputs = inputs.copy()
    inputs[:9, 0] = np.nan
    fitted = quick(epochs=20).fit(inputs, labels)
    assert fitted.score(inputs, labels) > 0.8
    assert fitted.predict(inputs[20:].tolist()).shape == (len(labels) - 20,)
    complete = quick(epochs=20).fit(inputs[9:], labels[9:])
    assert complete.score(inputs, labels) > 0.8
    with pytest.raises(ValueError, match="features"):
        fitted.predict(inputs[:, :3])


def test_cores_do_not_change_the_result(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    alone, shared = (quick(beta="auto", epochs=2, n_jobs=jobs).fit(inputs, labels) for jobs in (None, 2))
    np.testing.assert_array_equal(alone.predict_proba(inputs), shared.predict_proba(inputs))


def test_a_users_own_network_keeps_its_float32(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    fitted = quick(network="tests.test_estimator:own_network", epochs=2).fit(inputs, labels)
    np.testing.assert_allclose(fitted.predict_proba(inputs).sum(1), 1, atol=1e-12)


def test_search_and_cross_validation(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    search = GridSearchCV(quick(), {"beta": [1, 10]}, cv=2).fit(inputs, labels)
    assert search.best_score_ > 0.8
    assert search.n_features_in_ == inputs.shape[1]
    pipeline = make_pipeline(StandardScaler(), quick())
    assert cross_val_score(pipeline, inputs, labels, cv=2).min() > 0.8


def test_weights_count_and_weight_zero_is_absence(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    present = np.arange(len(labels)) % 4 > 0
    weighted = quick(epochs=3).fit(inputs, labels, sample_weight=2.0 * present)
    removed = quick(epochs=3).fit(inputs[present], labels[present])
    np.testing.assert_array_equal(weighted.predict_proba(inputs), removed.predict_proba(inputs))
    assert len(weighted.label_issues_) == len(labels)
    # Every input twice, under two labels: the weights alone say which one is meant.
    twice, both = np.concatenate([inputs, inputs]), np.concatenate([labels, (labels + 1) % 3])
    for meant in (0, 1):
        weights = np.repeat([1.0, 0.05] if meant == 0 else [0.05, 1.0], len(labels))
        fitted = quick(epochs=30, validation_share=0).fit(twice, both, sample_weight=weights)
        assert fitted.score(inputs, (labels + meant) % 3) > 0.8


def test_a_predictor_of_the_users_own_teaches_the_classifier() -> None:
    inputs, labels = load_digits(return_X_y=True)
    wrong = np.arange(len(labels)) % 5 < 2
    given = np.where(wrong, (labels + np.random.default_rng(0).integers(1, 10, len(labels))) % 10, labels)
    tree, train, test = DecisionTreeClassifier(random_state=0), slice(1000), slice(1000, None)
    fitted = quick(predictor=tree, epochs=30).fit(inputs[train], given[train])
    assert (
        fitted.score(inputs[test], labels[test])
        > tree.fit(inputs[train], given[train]).score(inputs[test], labels[test]) + 0.1
    )
    found = measure(fit_label_model([fitted.predictor_probabilities_], given[train]), given[train])
    np.testing.assert_array_equal(fitted.label_issues_["label_quality"], found.label_quality)
    assert fitted.predictor_.score(inputs[train], given[train]) > 0.9
    assert fitted.beta_ is None


def test_label_issues_keep_the_index_and_missing_labels_are_refused() -> None:
    inputs, labels = np.eye(2)[[0, 1] * 20], pd.Series(["a", "b"] * 20, index=np.arange(40) + 5)
    assert quick(epochs=1).fit(inputs, labels).label_issues_.index.equals(labels.index)
    for missing in (labels.replace("a", None), np.where(labels == "a", np.nan, 1.0)):
        with pytest.raises(InputError, match="without a label"):
            quick().fit(inputs, missing)
    with pytest.raises(InputError, match="predict_proba"):
        quick(predictor=DecisionTreeClassifier).fit(inputs, labels)


class Blind(DummyClassifier):  # type: ignore[misc]
    """Predicts from the inputs alone."""

    def predict_proba(self, inputs: Any) -> Any:
        odds = np.exp(inputs[:, : len(self.classes_)])
        return odds / odds.sum(1, keepdims=True)


def test_labels_reach_the_classifier_through_the_predictor_only(blobs: DataSet) -> None:
    inputs, _ = arrays(blobs)
    labels = np.random.default_rng(0).integers(0, 3, len(inputs))
    one, other = (quick(predictor=Blind(), epochs=3).fit(inputs, y) for y in (labels, 2 - labels[::-1]))
    np.testing.assert_array_equal(one.predict_proba(inputs), other.predict_proba(inputs))
    assert one.label_issues_warning_ is not None  # chance
    # A model that memorises every label it sees did not see that of the example that it predicts.
    memory = quick(predictor=KNeighborsClassifier(1), epochs=3).fit(inputs, labels)
    assert memory.predictor_.score(inputs, labels) == 1
    assert (memory.predictor_probabilities_.argmax(1) == labels).mean() < 0.5


def test_a_predictor_keeps_to_the_weights(blobs: DataSet) -> None:
    inputs, labels = arrays(blobs)
    present = np.arange(len(labels)) % 4 > 0
    given = np.where(present, labels, (labels + 1) % 3)
    weighted = quick(predictor=GaussianNB(), epochs=3).fit(inputs, given, sample_weight=2.0 * present)
    removed = quick(predictor=GaussianNB(), epochs=3).fit(inputs[present], labels[present])
    np.testing.assert_array_equal(weighted.predict_proba(inputs), removed.predict_proba(inputs))
    assert weighted.label_issues_["is_label_issue"][~present].mean() > 0.9
    with pytest.raises(InputError, match="predict_proba"):
        quick(predictor=LinearSVC()).fit(inputs, labels)


@pytest.mark.parametrize("counts", [[1, 1], [1, 1, 1, 1, 1], [40, 1], [60, 1, 1], [3, 2]])
def test_few_examples(counts: list[int]) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    generator = np.random.default_rng(1)
    inputs = 4 * np.eye(len(counts))[labels] + generator.normal(size=(len(labels), len(counts)))
    fitted = quick(batch_size=4096, epochs="auto").fit(inputs, labels)
    assert fitted.predict_proba(inputs).shape == (len(labels), len(counts))
    assert fitted.score(inputs, labels) > 0.7
    assert len(fitted.label_issues_) == len(labels)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"epochs": "many"}, "epochs is 'many'"),
        ({"beta": "some"}, "beta is 'some'"),
        ({"validation_share": 1.0}, "validation_share is 1"),
        ({"learning_rate": 1e30}, "training failed"),
    ],
)
def test_bad_settings_are_refused(blobs: DataSet, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        quick(**settings).fit(*arrays(blobs))


def test_it_is_silent_unless_asked(
    blobs: DataSet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, labels = arrays(blobs)
    quick(epochs=2).fit(inputs, labels)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("noiselimit.progress.LINE_EVERY", 0.0)
    quick(epochs=2, verbose=1).fit(inputs, labels)
    out, err = capsys.readouterr()
    assert (out, "2 of 2 epochs" in err) == ("", True)


def test_easy_data_are_not_taken_for_memorised() -> None:
    """Averages over epochs are surer than the best epoch's weights: that is no sign of memory."""
    generator = np.random.default_rng(0)
    clean = generator.integers(0, 3, 600)
    inputs = generator.normal(size=(600, 6)) + np.eye(3)[clean] @ generator.normal(size=(3, 6)) * 3
    wrong = generator.random(600) < 0.15
    given = np.where(wrong, (clean + generator.integers(1, 3, 600)) % 3, clean)
    found = LimitClassifier(random_state=0).fit(inputs, given).label_issues_
    assert found.attrs["known_from"] == 600
    assert (found["is_label_issue"] == wrong).mean() > 0.98


def test_agreement_is_the_mean_over_the_second_half_of_the_epochs(blobs: DataSet) -> None:
    run: Any = SimpleNamespace(history=[{"validation_accuracy": share} for share in (0.1, 0.9, 0.5, 0.7)])
    rows, labels = np.arange(4), np.array([0, 1, 1, 1])
    probabilities = np.eye(2, dtype=np.float32)[[0, 1, 1, 0]]
    found = second_half_agreement([run, run], probabilities, labels, HoldOut(blobs, rows[:0], rows), 3)
    assert found is not None
    assert (found.share, found.chance, found.examples, found.settings) == (0.6, 0.5, 4, 3)
    assert second_half_agreement([run], probabilities, labels, HoldOut(blobs, rows, rows[:0]), 3) is None


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=12),
    st.floats(0, 0.9),
    st.integers(0, 2**31),
)
def test_every_class_trains_and_the_parts_are_disjoint(counts: list[int], share: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = np.arange(len(labels), dtype=np.float32)[:, np.newaxis]  # an input says which example it is
    data = hold_out(rows, labels, len(counts), None, share, seed).data
    assert data.validation is not None
    trained, validating = (set(part.inputs[:, 0].tolist()) for part in (data.examples, data.validation))
    assert set(data.examples.labels.tolist()) == set(range(len(counts)))
    wanted = min(round(share * len(labels)), len(labels) - len(counts))
    if wanted < MIN_VALIDATION:
        assert trained == validating == set(range(len(labels)))
    else:
        assert len(validating) == wanted
        assert not trained & validating
        assert len(trained) + len(validating) == len(labels)


def test_classes_validate_in_proportion_and_the_seed_decides_who() -> None:
    labels = np.repeat([0, 1, 2], [100, 200, 700])
    rows = np.arange(1000, dtype=np.float32)[:, np.newaxis]
    parts = [hold_out(rows, labels, 3, None, 0.2, seed).data.validation for seed in (0, 0, 1)]
    assert all(part is not None for part in parts)
    chosen = [part.inputs[:, 0].tolist() for part in parts if part is not None]
    assert chosen[0] == chosen[1] != chosen[2]
    assert parts[0] is not None
    assert np.abs(np.bincount(parts[0].labels) - [20, 40, 140]).max() <= 1


def test_weights_leave_out_and_stay_within_float32() -> None:
    labels = np.array([0, 1] * 20)
    rows = np.arange(40, dtype=np.float32)[:, np.newaxis]
    weights = np.where(np.arange(40) < 10, 0.0, 1e300 * (1 + labels))
    data = hold_out(rows, labels, 2, weights, 0.0, 0).data
    assert len(data.examples) == 30
    assert data.examples.weights is not None
    assert data.examples.weights.tolist() == pytest.approx(((1 + labels[10:]) / 2).tolist())
    with pytest.raises(InputError, match="y has only one class:"):
        hold_out(rows, np.zeros(40, np.int64), 1, None, 0.2, 0)
    with pytest.raises(InputError, match="only one class with a weight above 0"):
        hold_out(rows, labels, 2, labels.astype(float), 0.2, 0)


@given(st.lists(st.integers(1, 9), min_size=3, max_size=30), st.integers(0, 2**31))
def test_examples_validate_as_often_as_they_weigh(weights: list[int], seed: int) -> None:
    """Nothing is set apart of so few, so all validate; within one copy of what the weight says."""
    labels = np.arange(len(weights)) % 2
    rows = np.arange(len(weights), dtype=np.float32)[:, np.newaxis]
    validation = hold_out(rows, labels, 2, np.array(weights, float), 0.2, seed).data.validation
    assert validation is not None
    counts = np.bincount(validation.inputs[:, 0].astype(int), minlength=len(weights))
    if len(set(weights)) == 1:
        assert set(counts.tolist()) == {1}
    else:
        assert np.abs(counts - COPIES * np.array(weights) / np.mean(weights)).max() <= 1


def test_inputs_that_bring_their_labels_and_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    generator = np.random.default_rng(0)
    labels = np.arange(80) % 2
    inputs = generator.normal(size=(80, 2)) + 4 * labels[:, None]
    frame = polars.DataFrame({"a": inputs[:, 0], "b": np.array(["x", "y"])[labels]})
    model = LimitClassifier(beta=1.0, epochs=3, random_state=0)
    for data in ((frame, polars.Series(labels)), (list(zip(inputs, labels, strict=True)),)):
        assert model.fit(*data).label_issues_["given_label"].tolist() == labels.tolist()
    model.fit(frame, labels)
    assert model.predict(frame).shape == (80,)
