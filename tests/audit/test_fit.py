"""`fit` and `audit_data`: averaged probabilities of every example, in data order."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from noiselimit.audit.fit import audit_data, fit
from noiselimit.audit.issues import FlagRule
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.examples import DataSet, make_examples, take_examples, without_labels
from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError
from noiselimit.runs.run import Run
from noiselimit.training import train

QUICK = AuditPlan(epochs=6, batch_size=32)


def test_probabilities_are_the_mean_of_both_networks_and_all_counted_runs(blobs: DataSet) -> None:
    fitted = fit(blobs, QUICK, threads=1)
    averages = [run.averaged for run in train(QUICK.specs(blobs), blobs, averaged=True)]
    both = [(one.classifier + one.predictor) / 2 for one in averages]  # type: ignore[union-attr, operator]
    assert fitted.counted == [True, True]
    np.testing.assert_allclose(fitted.model.judges[0], np.mean(both, axis=0), atol=1e-6)
    assert fitted.judges == ("networks", "neighbours", "forest", "logistic regression", "boosting")
    assert fitted.pred_probs.dtype == np.float32
    assert all(run.averaged is None for run in fitted.runs)


def test_test_and_validation_parts_are_ignored(blobs: DataSet) -> None:
    other = take_examples(blobs.examples, np.arange(40))
    wide = dataclasses.replace(blobs, test=other, validation=other)
    np.testing.assert_array_equal(fit(wide, QUICK).pred_probs, fit(blobs, QUICK).pred_probs)


def test_rows_without_a_label_are_predicted_but_not_trained_on(blobs: DataSet) -> None:
    missing = np.arange(len(blobs.examples)) % 10 == 3
    gappy = dataclasses.replace(blobs, examples=without_labels(blobs.examples, missing))
    audit, fitted = audit_data(gappy, QUICK, FlagRule(budget=4))
    alone = dataclasses.replace(blobs, examples=take_examples(blobs.examples, np.flatnonzero(~missing)))
    np.testing.assert_array_equal(fitted.model.judges[0][~missing], fit(alone, QUICK).model.judges[0])
    assert (fitted.pred_probs[missing].argmax(1) == blobs.examples.labels[missing]).mean() > 0.8
    assert audit.missing.tolist() == np.flatnonzero(missing).tolist()
    assert audit.flagged == 4
    assert audit.table["row"].tolist() == list(range(len(missing)))


def test_failed_runs_do_not_count(blobs: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    def second_fails(*args: Any, **how: Any) -> list[Run]:
        first, second = train(*args, **how)
        failed = {**second.metrics, "status": "failed", "failure": "as the test wants"}
        return [first, dataclasses.replace(second, metrics=failed)]

    monkeypatch.setattr("noiselimit.audit.fit.train", second_fails)
    fitted = fit(blobs, QUICK)
    assert fitted.counted == [True, False]
    monkeypatch.undo()
    alone = fit(blobs, dataclasses.replace(QUICK, betas=(3.0,)))
    np.testing.assert_array_equal(fitted.pred_probs, alone.pred_probs)
    with pytest.raises(InputError, match="every run"):
        fit(blobs, dataclasses.replace(QUICK, learning_rate=1e30))


def test_finished_runs_are_read_from_their_folder(blobs: DataSet, tmp_path: Path) -> None:
    first = fit(blobs, QUICK, out=tmp_path)
    records: list[object] = []
    again = fit(blobs, QUICK, out=tmp_path, progress=lambda progress: records.append(progress.record))
    assert records == [None, None]  # nothing trained
    np.testing.assert_array_equal(first.pred_probs, again.pred_probs)
    np.testing.assert_array_equal(first.pred_probs, fit(blobs, QUICK).pred_probs)


def test_weights_count(blobs: DataSet) -> None:
    twice = take_examples(blobs.examples, np.repeat(np.arange(len(blobs.examples)), 2))
    labels = twice.labels.copy()
    labels[1::2] = (labels[1::2] + 1) % 3
    plan = dataclasses.replace(QUICK, epochs=25, betas=(3.0,))
    for heavy in (0, 1):
        weights = np.where(np.arange(len(twice)) % 2 == heavy, 1.0, 0.05).astype(np.float32)
        data = DataSet("twice", dataclasses.replace(twice, labels=labels, weights=weights))
        assert (fit(data, plan).pred_probs.argmax(1) == (twice.labels + heavy) % 3).mean() > 0.8


def test_memorised_labels_are_calibrated() -> None:
    """A large network without β memorises 600 labels, including the wrong ones."""
    generator = np.random.default_rng(0)
    clean = np.arange(600) % 3
    inputs = 1.5 * np.eye(3)[clean] @ np.eye(3, 20) + generator.normal(size=(600, 20))
    given = np.where(generator.random(600) < 0.2, (clean + 1) % 3, clean)
    data = DataSet("memorised", make_examples(inputs, given))
    plan = AuditPlan(betas=(0.0,), epochs=30, batch_size=32, network="mlp-4x512")
    audit, fitted = audit_data(data, plan, threads=1)
    held_out = split_examples(600, 0, validation_share=0.2).validation
    trained = np.setdiff1d(np.arange(600), held_out)
    mass = 1 - fitted.model.judges[0][np.arange(600), given]
    for quantile in (0.25, 0.5, 0.75):
        target = np.quantile(mass[held_out], quantile)
        assert np.quantile(mass[trained], quantile) == pytest.approx(target, abs=0.02)
    assert fitted.known_from == audit.noise_rate.known_from == 120


@pytest.mark.parametrize("every", [2, 10])
def test_constant_inputs_are_not_flagged(every: int) -> None:
    labels = (np.arange(200) % every == 0).astype(np.int64)
    constant = DataSet("constant", make_examples(np.ones((200, 3)), labels))
    assert audit_data(constant, AuditPlan(epochs=8), threads=1)[0].flags_withheld


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "least", "most"), [("uniform:0.4", 0.35, 0.45), ("uniform:0.8", 0.5, 0.9)])
def test_many_wrong_labels_are_estimated(noise: str, least: float, most: float) -> None:
    from noiselimit import load_data
    from noiselimit.noise import parse_noise

    data = load_data("digits")
    noisy = dataclasses.replace(data, examples=parse_noise(noise).apply(data.examples, 0))
    audit, _ = audit_data(noisy, threads=1)
    assert audit.warning is None
    assert least < audit.noise_rate.rate < most


def test_networks_that_memorised_few_examples_do_not_judge() -> None:
    rng = np.random.default_rng(1)
    clean = np.arange(150) % 3
    inputs = rng.normal(size=(150, 100)) + 2.5 * np.eye(3, 100)[clean]
    labels = np.where(np.arange(150) % 10 == 0, (clean + 1) % 3, clean)
    names = ["apple", "fig", "pear"]
    data = DataSet("few", make_examples(inputs, labels, class_names=names))
    audit, fitted = audit_data(data, AuditPlan(fast=True), threads=1)
    assert fitted.judges == ("neighbours", "forest", "logistic regression")
    low, high = audit.noise_rate.interval
    assert low < 0.1 < high


def test_judges_of_all_labels_count_more_than_networks_judged_on_a_few() -> None:
    inputs, clean = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    rows, wrong = rng.permutation(len(inputs))[:300], rng.choice(300, 90, replace=False)
    labels = clean[rows]
    labels[wrong] = 1 - labels[wrong]
    data = DataSet("noisy", make_examples(inputs[rows], labels, class_names=["a", "b"]))
    audit, _ = audit_data(data, AuditPlan(fast=True), threads=1)
    assert audit.warning is None
    assert audit.flagged > 40
