"""noiselimit show: one run in full, several as a table, everything as JSON; and noiselimit export."""

import json
import re
from pathlib import Path


def test_one_run_in_full(command, one_run):
    answer = command("show", one_run)
    assert answer.code == 0
    first, *lines = answer.out.splitlines()
    assert first == str(one_run)
    values = dict(re.split(" {2,}", line, maxsplit=1) for line in lines)
    expected = {"method": "limit-l", "hyper": "beta 10", "noise": "uniform:0.4", "data": "table"}
    assert {name: values[name] for name in expected} == expected
    assert values["noise entropy source"] == "noise"
    for file in one_run.iterdir():
        assert any(line.startswith(file.name) and line.endswith(" kB") for line in lines)


def test_a_folder_of_runs_as_a_table(command, runs):
    answer = command("show", runs)
    lines = [line for line in answer.out.splitlines() if str(runs) in line]
    assert [line.replace("★", " ").split()[0] for line in lines] == ["ce", "limit-l", "limit-l"]
    assert sum(line.startswith("★") for line in lines) == 1
    assert all(line == line.rstrip() for line in answer.out.splitlines())


def test_json(command, runs):
    shown = json.loads(command("show", runs, "--json").out)
    assert [run["spec"]["method"] for run in shown] == ["ce", "limit-l", "limit-l"]
    assert shown[1]["data"]["input_shape"] == [5]
    assert [record["epoch"] for record in shown[1]["history"]] == [1, 2]
    assert shown[1]["metrics"]["status"] == "finished"


def test_export(command, one_run):
    """tests/runs/test_folder.py shows what the file holds."""
    answer = command("export", one_run, "--out", "w.safetensors")
    assert (answer.code, answer.err) == (0, "")
    assert "w.safetensors" in answer.out
    told = json.loads(command("export", one_run, "--json").out)
    assert told["weights"] == f"{one_run.name}.safetensors"
    assert Path(told["weights"]).stat().st_size == Path("w.safetensors").stat().st_size
    assert told["network"] == "mlp"
    assert told["class_names"] == ["0", "1", "2"]
