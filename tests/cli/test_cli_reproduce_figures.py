"""Every figure by its name, on small data."""

import json
from pathlib import Path

import pytest

from noiselimit.reproduce.figures.registry import FIGURES


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_runs_quickly_and_only_once(command, name):
    arguments = ("reproduce", name, "--quick", "--threads", "1", "--device", "cpu", "--quiet", "--json")
    first = json.loads(command(*arguments).out)
    assert (first["runs_failed"], first["runs_left"]) == (0, 0)
    assert (first["runs_trained"] > 0) == (FIGURES[name].data is not None)
    assert first["drawn"]
    assert all(Path(path).stat().st_size < 200_000 for path in first["drawn"])
    again = json.loads(command(*arguments).out)
    assert again["runs_trained"] == 0
    assert again["drawn"] == first["drawn"]


def test_a_figure_that_needs_no_training_is_drawn(command):
    answer = command("reproduce", "fano", "--out", "here", "--quiet", "--json")
    assert json.loads(answer.out)["drawn"] == [str(Path("here", "figures", "fano.svg"))]
    assert Path("here/figures/fano.svg").is_file()
