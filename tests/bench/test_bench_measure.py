"""A whole bench with rows that take no time: what stands in the file, and what a failure leaves."""

import json
import warnings

import pytest
import torch

from noiselimit.bench import measure
from noiselimit.bench.effort import effort_for
from noiselimit.bench.measure import Wanted, run_bench
from noiselimit.bench.result import read_bench
from noiselimit.bench.rows import ROWS, Row
from noiselimit.bench.session import Session
from noiselimit.errors import Notice

CPU = torch.device("cpu")


@pytest.fixture
def rows(monkeypatch):
    """Replace rows by functions (session, tell) → entries."""

    def replace(**functions):
        for name, function in functions.items():
            monkeypatch.setitem(ROWS, name.replace("_", "-"), Row(function, lambda session: 1.0, ("cpu",)))

    return replace


def entry(name, seconds=0.5):
    return {"row": name, "seconds": seconds, "tflop_per_s": 1.0, "gb_per_s": 2.0, "k": 1, "n": 10}


def test_the_file_holds_what_is_returned(rows, tmp_path):
    rows(digits_step=lambda session, tell: [entry("digits-step")])
    out = tmp_path / "bench.json"
    content = run_bench(Wanted(CPU, ("digits-step",), quick=True), out)
    assert json.loads(out.read_text()) == json.loads(json.dumps(content))
    assert read_bench(out)["finished"] is True
    assert {"device", "versions", "commit", "changed", "date", "threads"} <= content.keys()


@pytest.mark.parametrize(
    ("device", "quick", "shares"),
    [("cpu", False, (0.25, 0.2)), ("cpu", True, (None, None)), ("cuda", True, (0.25, 0.2))],
)
def test_shares_are_of_ceilings_that_mean_something(device, quick, shares):
    stage = measure._Stage("x", 1.0, "points", {}, lambda tell: [entry("x")])
    session = Session(torch.device(device), 1, effort_for(device, quick=quick))
    content = {"ceilings": {"tflop_per_s": 4.0, "gb_per_s": 10.0}}
    (found,) = measure._entries(stage, session, content, lambda share: None)
    assert (found["share_of_tflop"], found["share_of_gb"]) == shares


def test_a_row_that_fails_does_not_end_the_others(rows, tmp_path):
    def fail(session, tell):
        raise RuntimeError("CUDA out of memory\nand much more")

    rows(digits_cohort=fail, digits_step=lambda session, tell: [entry("digits-step")])
    content = run_bench(Wanted(CPU, ("digits-cohort", "digits-step"), quick=True), tmp_path / "b.json")
    assert content["rows"][0] == {"row": "digits-cohort", "failure": "CUDA out of memory", "notices": []}
    assert content["rows"][1]["seconds"] == 0.5


def test_an_interruption_costs_one_measurement(rows, tmp_path):
    def interrupt(session, tell):
        raise KeyboardInterrupt

    rows(digits_cohort=lambda session, tell: [entry("digits-cohort")], digits_step=interrupt)
    out = tmp_path / "b.json"
    with pytest.raises(KeyboardInterrupt):
        run_bench(Wanted(CPU, ("digits-cohort", "digits-step"), quick=True), out)
    kept = read_bench(out)
    assert [row["row"] for row in kept["rows"]] == ["digits-cohort"]
    assert kept["finished"] is False
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_news_grow_from_nothing_to_all(rows, tmp_path):
    def half(session, tell):
        tell(0.5)
        return [entry("x")]

    rows(digits_cohort=half, digits_step=half)
    said = []
    wanted = Wanted(CPU, ("digits-cohort", "digits-step"), quick=True)
    run_bench(wanted, tmp_path / "b.json", lambda label, share: said.append((label, share)))
    assert [share for _, share in said] == [0.0, 0.0, 0.25, 0.5, 0.75, 1.0]
    assert said[2][0] == "digits-cohort"


def test_points_of_a_sweep(monkeypatch, tmp_path):
    def fake(point, session, so_far, tell):
        if point.runs == 2:
            raise RuntimeError("no")
        return [
            {"sweep": point.sweep, "k": point.runs, "n": 5, "seconds": 1.0, "tflop_per_s": 1, "gb_per_s": 1}
        ]

    monkeypatch.setattr(measure, "measure_point", fake)
    content = run_bench(Wanted(CPU, (), ("k",), quick=True), tmp_path / "b.json")
    good, bad = content["points"]
    assert (good["k"], good["seconds"]) == (1, 1.0)
    assert good["share_of_tflop"] is None
    assert bad == {"sweep": "k", "k": 2, "n": None, "failure": "no", "notices": []}


def test_what_gave_way_stands_beside_the_figure_or_the_failure():
    def give_way(session, tell):
        warnings.warn("kernels failed, so torch's are used.", Notice, stacklevel=2)
        return [entry("digits-step"), {**entry("best of several"), "notices": []}]

    def fail(session, tell):
        warnings.warn("kernels failed, so torch's are used.", Notice, stacklevel=2)
        raise RuntimeError("and torch's too")

    session = Session(CPU, 1, effort_for("cpu", quick=True))
    for function, noticed in (
        (give_way, [["kernels failed, so torch's are used."], []]),
        (fail, [["kernels failed, so torch's are used."]]),
    ):
        stage = measure._Stage("x", 1.0, "points", {"sweep": "k"}, lambda tell, f=function: f(session, tell))
        found = measure._entries(stage, session, {"ceilings": None}, lambda share: None)
        assert [each["notices"] for each in found] == noticed
