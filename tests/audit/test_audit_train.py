"""`fit` and `audit_data`: the mean of what runs averaged, of every example and in data order."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noiselimit.audit.fit import audit_data, fit
from noiselimit.audit.issues import FlagRule, audit_probabilities
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.examples import DataSet, make_examples, take_examples, without_labels
from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError
from noiselimit.runs.run import Run
from noiselimit.training import train

QUICK = AuditPlan(epochs=6, batch_size=32)


def test_probabilities_are_the_mean_of_both_networks_and_of_the_runs_that_count(blobs: DataSet) -> None:
    fitted = fit(blobs, QUICK, threads=1)
    runs = train(QUICK.specs(blobs), blobs, averaged=True)
    said = [run.averaged for run in runs]
    both = [
        (one.classifier + one.predictor) / 2 for one in said if one is not None and one.predictor is not None
    ]
    assert fitted.counted == [True, True]
    np.testing.assert_allclose(fitted.pred_probs, np.mean(both, axis=0), atol=1e-6)
    assert fitted.pred_probs.dtype == np.float32
    np.testing.assert_allclose(fitted.pred_probs.sum(1), 1, atol=1e-5)
    assert all(run.averaged is None for run in fitted.runs)
    assert [run.metrics["validation_accuracy"] for run in fitted.runs] == [
        run.metrics["validation_accuracy"] for run in runs
    ]


def test_test_and_validation_parts_are_left_alone(blobs: DataSet) -> None:
    other = take_examples(blobs.examples, np.arange(40))
    wide = dataclasses.replace(blobs, test=other, validation=other)
    np.testing.assert_array_equal(fit(wide, QUICK).pred_probs, fit(blobs, QUICK).pred_probs)


def test_rows_without_a_label_do_not_train_and_are_predicted_in_their_place(blobs: DataSet) -> None:
    missing = np.arange(len(blobs.examples)) % 10 == 3
    gappy = dataclasses.replace(blobs, examples=without_labels(blobs.examples, missing))
    audit, fitted = audit_data(gappy, QUICK, FlagRule(budget=4))
    alone = dataclasses.replace(blobs, examples=take_examples(blobs.examples, np.flatnonzero(~missing)))
    np.testing.assert_array_equal(fitted.pred_probs[~missing], fit(alone, QUICK).pred_probs)
    own = blobs.examples.labels[missing]
    assert (fitted.pred_probs[missing].argmax(1) == own).mean() > 0.8
    np.testing.assert_allclose(fitted.pred_probs[missing].sum(1), 1, atol=1e-5)
    assert audit.missing.tolist() == np.flatnonzero(missing).tolist()
    assert audit.table["is_label_issue"].sum() == 4
    assert audit.table["row"].tolist() == list(range(len(missing)))


def test_a_run_that_failed_does_not_count_and_all_failed_is_said(
    blobs: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second_fails(*args: Any, **how: Any) -> list[Run]:
        first, second = train(*args, **how)
        failed = {**second.metrics, "status": "failed", "failure": "it was told to"}
        return [first, dataclasses.replace(second, metrics=failed)]

    monkeypatch.setattr("noiselimit.audit.fit.train", second_fails)
    fitted = fit(blobs, QUICK)
    assert fitted.counted == [True, False]
    monkeypatch.undo()
    alone = fit(blobs, dataclasses.replace(QUICK, betas=(3.0,)))
    np.testing.assert_array_equal(fitted.pred_probs, alone.pred_probs)
    sentence = r"broke down in every run of the audit, because .* lower the learning rate\."
    with pytest.raises(InputError, match=sentence):
        fit(blobs, dataclasses.replace(QUICK, learning_rate=1e30))


def test_runs_are_found_again_in_their_folder(blobs: DataSet, tmp_path: Path) -> None:
    first = fit(blobs, QUICK, out=tmp_path)
    heard: list[object] = []
    again = fit(blobs, QUICK, out=tmp_path, progress=lambda news: heard.append(news.record))
    assert heard == [None, None]  # nothing trained
    np.testing.assert_array_equal(first.pred_probs, again.pred_probs)
    np.testing.assert_array_equal(first.pred_probs, fit(blobs, QUICK).pred_probs)


def test_weights_count(blobs: DataSet) -> None:
    examples = blobs.examples
    twice = take_examples(examples, np.repeat(np.arange(len(examples)), 2))
    labels = twice.labels.copy()
    labels[1::2] = (labels[1::2] + 1) % 3
    plan = dataclasses.replace(QUICK, epochs=25, betas=(3.0,))
    for meant in (0, 1):
        weights = np.where(np.arange(len(twice)) % 2 == meant, 1.0, 0.05).astype(np.float32)
        data = DataSet("twice", dataclasses.replace(twice, labels=labels, weights=weights))
        said = fit(data, plan).pred_probs.argmax(1)
        assert (said == (twice.labels + meant) % 3).mean() > 0.8


def test_labels_that_look_like_identifiers_are_refused_before_training(blobs: DataSet) -> None:
    examples = dataclasses.replace(
        blobs.examples,
        labels=np.arange(151) // 5,
        class_names=tuple(str(number) for number in range(31)),
    )
    with pytest.raises(InputError, match="31 classes for 151 labels"):
        fit(DataSet("ids", examples), QUICK)
    fitted = fit(DataSet("ids", examples), QUICK, many_classes=True)
    assert fitted.pred_probs.shape == (151, 31)
    assert "a single example ('30' in row 150)" in fitted.runs[0].data.notes[0]


def test_labels_that_were_memorised_are_judged_on_the_scale_of_labels_held_out() -> None:
    """A large network and no β learn 600 labels by heart, those that are wrong as well."""
    generator = np.random.default_rng(0)
    clean = np.arange(600) % 3
    inputs = 1.5 * np.eye(3)[clean] @ np.eye(3, 20) + generator.normal(size=(600, 20))
    wrong = generator.random(600) < 0.2
    given = np.where(wrong, (clean + 1) % 3, clean)
    data = DataSet("memorised", make_examples(inputs, given))
    plan = AuditPlan(betas=(0.0,), epochs=30, batch_size=32, network="mlp-4x512")
    audit, fitted = audit_data(data, plan, threads=1)
    (run,) = train(plan.specs(data), data, averaged=True)
    assert run.averaged is not None
    assert run.averaged.predictor is not None
    before = (run.averaged.classifier + run.averaged.predictor) / 2
    held_out = split_examples(600, 0, validation_share=0.2).validation
    seen = np.setdiff1d(np.arange(600), held_out)
    np.testing.assert_array_equal(fitted.pred_probs[held_out], before[held_out])
    off_label, raw = (1 - said[np.arange(600), given] for said in (fitted.pred_probs, before))
    assert np.median(raw[seen]) < 0.5 * np.median(raw[held_out])
    for quantile in (0.25, 0.5, 0.75):
        theirs = np.quantile(off_label[held_out], quantile)
        assert np.quantile(off_label[seen], quantile) == pytest.approx(theirs, abs=0.02)
    assert fitted.known_from == audit.noise_rate.known_from == 120
    again = audit_probabilities(given, fitted.pred_probs)
    assert again.noise_rate.interval[0] >= audit.noise_rate.interval[0], "fewer examples say less"
    assert again.noise_rate.interval[1] < audit.noise_rate.interval[1]
