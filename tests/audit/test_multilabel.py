"""Wrong classes among several of an example."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from noiselimit import InputError, find_label_issues
from noiselimit.audit.plan import AuditPlan

NAMES = ["bird", "cat", "dog"]


def data(count: int = 400) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Inputs, right labels, and labels of which one class in ten is wrong."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(count, 3)), columns=["a", "b", "c"])
    frame.index += 100
    right = (frame.to_numpy() @ [[1, 0, 1], [0, 1, 1], [0, 0, 1]] > 0.3).astype(int)
    return frame, right, right ^ (generator.uniform(size=right.shape) < 0.1)


def test_the_wrong_classes_of_a_row_are_named() -> None:
    frame, right, given = data()
    issues = find_label_issues(
        frame,
        [[name for name, here in zip(NAMES, row, strict=True) if here] for row in given],
        task="multilabel",
        plan=AuditPlan(epochs=30),
        threads=1,
    )
    assert list(issues.index) == list(frame.index)
    errors = issues[[f"error_{name}" for name in NAMES]].to_numpy()
    assert roc_auc_score((given != right).ravel(), errors.ravel()) > 0.95
    flagged = issues["is_label_issue"].to_numpy()
    assert (given != right).any(1)[flagged].mean() > 0.85
    row = issues.iloc[int(issues["rank"].argmin())]
    sets = [set(filter(None, row[name].split(";"))) for name in ("given_label", "missing", "extra")]
    assert set(filter(None, row["predicted_label"].split(";"))) == (sets[0] | sets[1]) - sets[2]
    assert sets[1] or sets[2]


def test_probabilities_of_your_own_are_enough() -> None:
    _, right, given = data()
    probabilities = np.clip(right * 0.8 + 0.1, 0, 1)
    issues = find_label_issues(labels=given, pred_probs=probabilities, task="multilabel")
    assert issues.loc[(given != right).any(1), "is_label_issue"].all()
    assert issues["is_label_issue"].sum() == (given != right).any(1).sum()
    texts = [";".join(name for name, here in zip(NAMES, row, strict=True) if here) for row in given]
    again = find_label_issues(labels=texts, pred_probs=probabilities, task="multilabel")
    np.testing.assert_array_equal(again["error_probability"], issues["error_probability"])
    for bad in (probabilities[:, :2], probabilities * 2):
        with pytest.raises(InputError, match="pred_probs"):
            find_label_issues(labels=given, pred_probs=bad, task="multilabel")
    with pytest.raises(InputError, match="is 2"):
        find_label_issues(labels=given * 2, pred_probs=probabilities, task="multilabel")
    with pytest.raises(InputError, match="either"):
        find_label_issues(given, task="multilabel")
