"""Any number of classes for each example."""

import numpy as np
import pandas as pd
import pytest

from noiselimit import InputError, grid, make_multilabel, train

INPUTS = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
LABELS = (INPUTS > 0).astype(int)
NAMES = ["bird", "cat", "dog"]
SETS = [[name for name, here in zip(NAMES, row, strict=True) if here] for row in LABELS]
TEXTS = ["; ".join(names) for names in SETS]


def test_labels_are_a_matrix_lists_or_texts() -> None:
    for labels in (LABELS, LABELS.astype(bool), pd.DataFrame(LABELS, columns=NAMES), SETS, TEXTS):
        examples = make_multilabel(INPUTS, labels)
        np.testing.assert_array_equal(examples.labels, LABELS)
    assert examples.class_names == tuple(NAMES)


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (np.where(np.arange(900).reshape(300, 3) == 5, 2, LABELS), "row 1, class 2 is 2"),
        (np.where(LABELS == 9, 0, np.nan), "nan"),
        (np.ones((300, 2)), "every class"),
        ([*SETS[:5], 7, *SETS[6:]], "row 5"),
        (SETS[:7], "7 labels"),
    ],
)
def test_bad_labels_are_refused(labels: object, word: str) -> None:
    with pytest.raises(InputError, match=word):
        make_multilabel(INPUTS, labels)


def test_training_learns_every_class_and_runs_are_loaded_again(tmp_path) -> None:
    examples = make_multilabel(INPUTS, LABELS)
    specs = grid(method=["ce", "limit-l"], epochs=30, batch_size=32)
    first = train(specs, examples, out=tmp_path, threads=1)
    for run, other in zip(first, train(specs, examples, out=tmp_path, threads=1), strict=True):
        probabilities = run.predict_proba(INPUTS)
        assert probabilities.shape == (300, 3)
        assert ((probabilities > 0.5) == LABELS).mean() > 0.9
        np.testing.assert_array_equal(other.predict_proba(INPUTS), probabilities)
        assert run.outputs["given_label"].tolist() == other.outputs["given_label"].tolist()
        (alone,) = train(run.spec, examples, threads=1)
        assert alone.history == run.history
