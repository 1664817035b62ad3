"""Ratios of two bench files: only of what both measured at the same size."""

from pathlib import Path

import pytest

from noiselimit.bench.compare import compare
from noiselimit.cli.bench_tables import print_comparison

ROW = {"row": "mnist-one", "seconds": 0.2, "k": 1, "n": 100}


def test_ratios_row_by_row(content):
    a = content(
        ROW, {"row": "digits-step", "seconds": 9.0, "ratio": 2.0, "n": 5}, {"row": "only-a", "seconds": 1}
    )
    b = content({**ROW, "seconds": 0.1}, {"row": "digits-step", "seconds": 1.0, "ratio": 1.6, "n": 5})
    rows = {row["row"]: row for row in compare(a, b)["rows"]}
    assert (rows["mnist-one"]["a"], rows["mnist-one"]["b"], rows["mnist-one"]["ratio"]) == (0.2, 0.1, 2.0)
    assert rows["digits-step"]["measure"] == "ratio"
    assert rows["digits-step"]["ratio"] == 1.25
    assert (rows["only-a"]["b"], rows["only-a"]["ratio"]) == (None, None)


def test_other_sizes_have_no_ratio(content):
    (row,) = compare(content(ROW), content({**ROW, "n": 50}))["rows"]
    assert row["ratio"] is None
    assert (row["a"], row["b"]) == (0.2, 0.2)


def test_another_k_has_one_since_the_best_counts(content):
    (row,) = compare(content(ROW), content({**ROW, "k": 64}))["rows"]
    assert row["ratio"] == 1.0
    assert row["k"] == [1, 64]


def test_points_that_both_have(content):
    def point(k, n, seconds, memory=None):
        return {"sweep": "k", "k": k, "n": n, "seconds": seconds, "peak_memory": memory}

    a = content(points=(point(1, 10, 4.0, 100), point(2, 10, 3.0), point(4, 20, 1.0)))
    b = content(points=(point(1, 10, 2.0, 50), point(2, 10, 3.0), point(4, 10, 1.0)))
    found = compare(a, b)["points"]
    assert [(each["k"], each["ratio"]) for each in found] == [(1, 2.0), (2, 1.0)]
    assert found[0]["peak_memory"]["ratio"] == 2.0
    assert found[1]["peak_memory"]["ratio"] is None


def test_notes_name_what_makes_ratios_doubtful(content):
    assert compare(content(ROW), content(ROW))["notes"] == []
    other = content({"row": "mnist-one", "failure": "out of memory"}, device="another", finished=False)
    notes = compare(content(ROW), other)["notes"]
    assert notes == [
        "A and B differ in device: a device and another.",
        "B was interrupted before its last measurement.",
        "B: mnist-one failed (out of memory).",
    ]


def test_notes_tell_what_gave_way(content):
    notes = compare(content({**ROW, "notices": ["no kernels."]}), content(ROW))["notes"]
    assert notes == ["A: mnist-one: no kernels."]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("precision", "bfloat16", "float32 and bfloat16"),
        ("kernels", "off", "auto and off"),
        ("graphs", "on", "auto and on"),
        ("threads", 1, "2 and 1"),
        ("quick", True, "False and True"),
    ],
)
def test_circumstances_that_differ_are_noted(name, value, said, content):
    compared = compare(content(ROW), content(ROW, **{name: value}))
    assert compared["notes"] == [f"A and B differ in {name}: {said}."]
    assert compared["b"][name] == value


def test_another_k_stands_in_the_table(content, capsys):
    a, b = content({**ROW, "k": 64}), content({**ROW, "k": 128}, {"row": "only-b", "seconds": 1.0, "k": 2})
    print_comparison(compare(a, b), Path("a"), Path("b"))
    said = capsys.readouterr().out
    assert "mnist-one, K = 64 against 128, s per run and epoch " in said
    assert said.count("against") == 1
    print_comparison(compare(a, a), Path("a"), Path("a"))
    assert "against" not in capsys.readouterr().out


def test_ceilings(content):
    twice = content(ceilings={"tflop_per_s": 1.0, "gb_per_s": 5.0})
    assert [each["ratio"] for each in compare(content(), twice)["ceilings"]] == [2.0, 2.0]
    assert compare(content(), content(ceilings=None))["ceilings"] == []
