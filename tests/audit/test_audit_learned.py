"""An audit says when its networks learned too little to judge anybody."""

from dataclasses import replace

import numpy as np
import pytest

from noiselimit.audit.learned import warning
from noiselimit.data.examples import DataSet
from noiselimit.runs import Run
from noiselimit.spec import RunSpec
from noiselimit.training import train


@pytest.fixture(scope="module")
def run(blobs: DataSet) -> Run:
    return train(RunSpec("limit-l", epochs=1), blobs)[0]


def that_learned(run: Run, validation: float, *training: float) -> Run:
    history = [{"epoch": epoch, "train_accuracy": value} for epoch, value in enumerate(training, 1)]
    return replace(run, history=history, metrics={**run.metrics, "validation_accuracy": validation})


def test_the_commonest_class_must_be_beaten_by_a_tenth_of_what_is_left(run: Run, blobs: DataSet) -> None:
    commonest = np.bincount(blobs.examples.labels).max() / len(blobs.examples)
    least = commonest + 0.1 * (1 - commonest)
    assert warning([that_learned(run, least)], [True], blobs) is None
    said = warning([that_learned(run, least - 0.001)], [True], blobs)
    assert said is not None
    assert "always saying '0' with 33.8\u00a0%" in said
    assert said.endswith("inputs that tell more.")


def test_examples_without_a_label_are_no_class(run: Run, blobs: DataSet) -> None:
    labels = np.where(np.arange(151) < 100, -1, blobs.examples.labels)
    data = replace(blobs, examples=replace(blobs.examples, labels=labels))
    assert warning([that_learned(run, 0.9)], [True], data) is None
    assert "33.3" in str(warning([that_learned(run, 0.3)], [True], data))


def test_accuracy_that_still_rises_is_told(run: Run, blobs: DataSet) -> None:
    rising = that_learned(run, 0.9, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.8, 0.8)
    said = warning([rising], [True], blobs)
    assert said is not None
    assert "their 8 epochs were over" in said
    assert "70.0\u00a0%" in said
    assert "80.0\u00a0%" in said
    settled = that_learned(run, 0.9, 0.3, 0.6, 0.7, 0.75, 0.78, 0.8, 0.82, 0.83)
    assert warning([settled], [True], blobs) is None
    assert warning([that_learned(run, 0.9, 0.1, 0.9, 0.95)], [True], blobs) is None  # too short to tell


def test_the_best_run_that_counts_decides(run: Run, blobs: DataSet) -> None:
    good, bad = that_learned(run, 0.9), that_learned(run, 0.3)
    assert warning([bad, good], [True, True], blobs) is None
    assert warning([bad, good], [True, False], blobs) is not None
    assert warning([], [], blobs) is None
