"""noiselimit bench: the table, the file, the comparison, and what is refused before anything is measured."""

import json
import warnings
from pathlib import Path

import pytest

from noiselimit.bench import measure
from noiselimit.bench.rows import ROWS, Row
from noiselimit.cli.bench_news import bench_lines
from noiselimit.cli.bench_tables import number
from noiselimit.errors import Notice

ENTRY = {
    "row": "digits-step",
    "seconds": 0.25,
    "run_epochs_per_second": 4.0,
    "tflop_per_s": 0.5,
    "gb_per_s": 3.0,
    "k": 1,
    "n": 1079,
    "ratio": 1.9,
}


KERNELS = "our own kernels failed here (no ptxas), so torch's are used: slower, same results."


@pytest.fixture
def measured(monkeypatch):
    """digits-step without measuring anything; returns how often it was asked for."""
    calls = []

    def answer(session, tell):
        calls.append(session)
        return [dict(ENTRY)]

    monkeypatch.setitem(ROWS, "digits-step", Row(answer, lambda session: 1.0, ("cpu",)))
    return calls


STEP = ("bench", "--device", "cpu", "--rows", "digits-step", "--quick")


def test_a_table_and_a_file(command, measured):
    answer = command(*STEP)
    assert answer.code == 0
    line = next(line for line in answer.out.splitlines() if line.startswith("digits-step"))
    assert line.split()[:6] == ["digits-step", "1", "1079", "0.25", "4", "0.5"]
    assert line.split()[6:] == ["–", "3", "–", "1.9", "–", "–"]  # no shares of a quick CPU's ceilings
    assert "GB/s*" in answer.out
    assert "* What the counted bytes come to: modelled, not measured by a counter." in answer.out
    assert "Ceilings measured here" in answer.out
    assert "Everything measured is in bench.json" in answer.out
    assert json.loads(Path("bench.json").read_text())["rows"][0]["ratio"] == 1.9
    assert "bench: digits-step" in answer.err
    assert [path.name for path in Path().iterdir()] == ["bench.json"]


def test_aims_are_marked(command, measured, monkeypatch):
    monkeypatch.setattr(
        measure, "figures_for", lambda name, session: type("F", (), {"author": 8.8, "aim": 1.8})
    )
    line = next(line for line in command(*STEP).out.splitlines() if line.startswith("digits-step"))
    assert line.split()[-4:] == ["8.8", "≤", "1.8", "✗"]


def test_json_and_quiet(command, measured):
    answer = command(*STEP, "--out", "x.json", "--json", "--quiet")
    assert answer.err == ""
    assert json.loads(answer.out) == json.loads(Path("x.json").read_text())


def test_what_gave_way_is_told_below_the_table(command, monkeypatch):
    def answer(session, tell):
        warnings.warn(KERNELS, Notice, stacklevel=2)
        return [dict(ENTRY)]

    monkeypatch.setitem(ROWS, "digits-step", Row(answer, lambda session: 1.0, ("cpu",)))
    told = command(*STEP, "--quiet")
    assert told.err == ""
    assert f"\ndigits-step: {KERNELS}\n" in told.out
    assert json.loads(Path("bench.json").read_text())["rows"][0]["notices"] == [KERNELS]


def test_a_commit_that_nobody_checked_is_told_so(command, measured, monkeypatch):
    monkeypatch.setenv("NOISELIMIT_COMMIT", "0123456789abcdef")
    assert "commit 0123456789, not checked, torch" in command(*STEP, "--quiet").out
    compared = command("bench", "--compare", "bench.json", "bench.json")
    assert "commit 0123456789, not checked, torch" in compared.out


def test_a_failure_is_told_and_ends_with_1(command, monkeypatch):
    def fail(session, tell):
        raise RuntimeError("out of memory")

    monkeypatch.setitem(ROWS, "digits-step", Row(fail, lambda session: 1.0, ("cpu",)))
    answer = command(*STEP, "--quiet")
    assert answer.code == 1
    assert "digits-step failed: out of memory" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rows", "mnist"), "unknown row 'mnist'"),
        (("--rows", ""), "--rows is ''"),
        (("--rows", "none"), "--rows is 'none'"),
        (("--sweep", "x"), "unknown sweep 'x'"),
        (("--sweep", "memory"), "memory of a GPU"),
        (("--device", "tpu"), "unknown device 'tpu'"),
        (("--out", "notes.txt"), "--out is notes.txt, which exists"),
        (("--out", "."), "--out is ., a folder"),
        (("--compare", "notes.txt", "notes.txt"), "notes.txt is no bench file"),
        (("--compare", "none.json", "notes.txt"), "none.json is no file"),
        (("--compare", "a", "b", "--quick", "--rows", "none"), "leave out --rows, --quick."),
        (("--compare", "a", "b", "--out", "bench.json"), "leave out --out."),
        (("--compare", "a", "b", "--precision", "auto"), "leave out --precision."),
        (("--compare", "a", "b", "--device", "cpu"), "leave out --device."),
        (("--compare", "a", "b", "--kernels", "off"), "leave out --kernels."),
        (("--compare", "a", "b", "--graphs", "off"), "leave out --graphs."),
        (("--compare", "a", "b", "--sweep", "k"), "leave out --sweep."),
        (("--compare", "a", "b", "--quiet"), "leave out --quiet."),
        (("--rows", "none,digits-step"), "--rows is 'none,digits-step': none stands alone"),
        (("--compare", "a"), "--compare"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(arguments, said, command, measured):
    Path("notes.txt").write_text("mine")
    device = () if {"--device", "--compare"} & set(arguments) else ("--device", "cpu")
    answer = command("bench", *device, *arguments)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
    assert measured == []
    assert Path("notes.txt").read_text() == "mine"
    assert [path.name for path in Path().iterdir()] == ["notes.txt"]


def test_a_quick_run_does_not_replace_a_full_result(command, measured):
    command(*STEP, "--quiet")
    full = {**json.loads(Path("bench.json").read_text()), "quick": False}
    Path("bench.json").write_text(json.dumps(full))
    answer = command(*STEP)
    assert answer.code == 2
    assert answer.err == (
        "noiselimit: --out is bench.json, a full measurement that a quick one would replace: "
        "name another file with --out.\n"
    )
    assert json.loads(Path("bench.json").read_text()) == full
    assert command(*STEP, "--out", "quick.json").code == 0


def interrupt(*_):
    raise KeyboardInterrupt


def test_an_interruption_says_where_the_measured_is(command, measured, monkeypatch):
    monkeypatch.setitem(ROWS, "set-up", Row(interrupt, lambda session: 1.0, ("cpu",)))
    answer = command(*STEP[:3], "--rows", "digits-step,set-up", "--quick", "--quiet", "--out", "x.json")
    assert answer.code == 130
    assert answer.err.startswith(
        "noiselimit: interrupted; what was measured is in x.json, and the same command measures anew:\n"
    )
    assert [row["row"] for row in json.loads(Path("x.json").read_text())["rows"]] == ["digits-step"]


@pytest.mark.parametrize("older", [False, True])
def test_an_interruption_before_anything_was_written(older, command, measured, monkeypatch):
    if older:
        command(*STEP, "--quiet")
    monkeypatch.setitem(ROWS, "digits-step", Row(interrupt, lambda session: 1.0, ("cpu",)))
    answer = command(*STEP, "--quiet")
    assert answer.code == 130
    assert answer.err.startswith(
        "noiselimit: interrupted; nothing was written yet, and the same command measures anew:\n"
    )
    assert Path("bench.json").exists() == older


def test_compare(command, measured):
    command(*STEP, "--out", "a.json", "--quiet")
    faster = json.loads(Path("a.json").read_text())
    faster["rows"][0]["ratio"] = 0.95
    Path("b.json").write_text(json.dumps(faster))
    answer = command("bench", "--compare", "a.json", "b.json")
    assert answer.code == 0
    line = next(line for line in answer.out.splitlines() if line.startswith("digits-step, ratio"))
    assert line.split()[-3:] == ["1.9", "0.95", "2"]
    assert answer.out.startswith("A: a.json, ")
    compared = json.loads(command("bench", "--compare", "a.json", "b.json", "--json").out)
    assert compared["rows"][0]["ratio"] == 2.0
    assert sorted(path.name for path in Path().iterdir()) == ["a.json", "b.json"]


def test_lines_tell_the_time_left(capsys):
    times = iter([0.0, 1.0, 2.0, 30.0])
    show = bench_lines(lambda: next(times))
    for label, share in (("mnist-one", 0.0), ("mnist-one", 0.1), ("mnist-one", 0.75)):
        show(label, share)
    assert capsys.readouterr().err.splitlines() == [
        "bench: mnist-one, 1 s gone",
        "bench: mnist-one, 30 s gone, about 10 s left",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0123456, "0.0123"), (1234.5, "1234"), (2.0, "2"), (0.00001234, "0.000012"), (0.0, "0")],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text
