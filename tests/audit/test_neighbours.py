"""Which examples look alike, and why a label is in doubt."""

import re
from pathlib import Path

import numpy as np
import pytest

from noiselimit import InputError
from noiselimit.audit import neighbours
from noiselimit.audit.neighbours import explain, nearest, squared_norms
from tests.audits import saved


def test_nearest_are_those_of_all_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    distances = np.linalg.norm(features[:, np.newaxis] - features, axis=2)
    monkeypatch.setattr(neighbours, "DISTANCES", 120)  # two rows at a time
    rows = [7, 0, 49, 3, 8]
    found = list(nearest(features, squared_norms(features), rows, 5))
    np.testing.assert_array_equal(found, np.argsort(distances, axis=1)[rows, 1:6])
    assert [len(each) for each in nearest(features[:3], squared_norms(features[:3]), [1], 5)] == [2]
    assert list(nearest(features, squared_norms(features), [], 5)) == []


def test_a_sentence_counts_votes_and_labels_of_neighbours() -> None:
    names = ("cat", "dog", "e" * 99)
    found = explain(0, 1, names, against=4, models=5, neighbours=[1] * 9 + [0, 0, -1, 2])
    assert re.findall(r"\d+|'.*?'", found) == ["4", "5", "12", "9", "'dog'", "2", "'cat'"]
    assert explain(0, 1, names) == ""
    assert explain(0, 1, names, against=1, models=1) == ""
    assert re.findall(r"\d+", explain(0, 1, names, against=2, models=3)) == ["2", "3"]
    assert explain(0, 0, names, neighbours=[0, 2]).count("'cat'") == 1
    assert "'cat'" not in explain(-1, 1, names, neighbours=[0, 1])
    assert len(explain(0, 2, names, neighbours=[2])) < 120


def test_a_saved_audit_explains_its_labels(tmp_path: Path) -> None:
    lines = [f"{'cat' if row % 2 else 'dog'},{row % 2 + row / 1000}" for row in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["label,x", *lines]))
    audit = saved(tmp_path / "data.csv", tmp_path / "out")
    labels = audit.table["given_label"]
    for row in (0, 1, 59):
        other = "cat" if labels[row] == "dog" else "dog"
        expected = (
            f"12 have the label '{labels[row]}'" if row == 59 else f"0 have the label '{other}' and 12 "
        )
        assert expected in audit.explain(row)
    with pytest.raises(InputError, match="59"):
        audit.explain(-1)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert page.count("12 nearest neighbours") == 4
