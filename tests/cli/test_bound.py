"""noiselimit bound: numbers that scripts can read, and Fig. 2."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noiselimit.information import (
    generalisation_gap,
    gradient_capacity,
    least_error,
    least_information,
    uniform_noise_entropy,
)

FANO = ("bound", "fano", "--classes", "10")
CAPACITY = ("bound", "capacity", "--classes", "10", "--square-norm", "0.1", "--sigma", "0.1")
GAP = ("bound", "gap", "--examples", "1000")
SVG = "{http://www.w3.org/2000/svg}"


def test_json_has_all_digits(command):
    entropy = uniform_noise_entropy(0.8, 10)
    found = json.loads(command(*FANO, "--noise", "0.8", "--bits", "1", "--json").out)
    facts = {"classes": 10, "noise_entropy": entropy, "bits": 1, "vacuous": False}
    assert found == {"least_error": least_error(entropy, 1, 10), **facts}
    arguments = ("bound", "memorised", "--classes", "5", "--entropy", "1.5", "--error", "0.1", "--json")
    assert json.loads(command(*arguments).out)["least_bits"] == least_information(1.5, 0.1, 5)
    arguments = (*GAP, "--label-bits", "3", "--input-bits", "2", "--sigma", "2", "--json")
    assert json.loads(command(*arguments).out)["gap"] == generalisation_gap(2, 3, 1000, 2)
    found = json.loads(command(*CAPACITY, "--distribution", "laplace", "--passes", "3", "--json").out)
    assert (
        found["most_bits"] == 3 * found["bits_per_gradient"] == 3 * gradient_capacity(0.1, 10, 0.1, "laplace")
    )


def test_an_infinite_capacity_is_null_in_json(command):
    tiny = ("bound", "capacity", "--classes", "2", "--square-norm", "1", "--sigma", "1e-200")
    assert json.loads(command(*tiny, "--json").out)["most_bits"] is None
    assert command(*tiny).out == "inf\n"


@pytest.mark.parametrize(
    ("arguments", "number", "reason"),
    [
        ((*FANO, "--noise", "0.8", "--bits", "4"), "0", "a label holds 3.26 bits of noise"),
        (("bound", "memorised", "--classes", "7", "--noise", "0.3", "--error", "0.3"), "0", "no memor"),
        (
            (*CAPACITY, "--dimension", "9", "--passes", "100"),
            f"{100 * gradient_capacity(0.1, 9, 0.1):.0f}",
            "holds 3.32 bits",
        ),
        ((*CAPACITY, "--entropy", "0.2"), "5", "holds 0.2 bits"),
        ((*GAP, "--label-bits", "4000", "--input-bits", "0"), "1.18", "interval of 1"),
    ],
)
def test_a_vacuous_bound_is_printed_with_the_reason(command, arguments, number, reason):
    answer = command(*arguments)
    assert (answer.code, answer.out) == (0, f"{number}\n")
    assert reason in answer.err
    found = command(*arguments, "--json")
    assert (json.loads(found.out)["vacuous"], found.err) == (True, "")


def test_figure_2(command):
    answer = command("bound", "plot", "--out", "figure.svg")
    assert (answer.code, answer.err) == (0, "")
    root = ElementTree.fromstring(Path("figure.svg").read_text("utf-8"))
    lines = [each for each in root.iter(f"{SVG}g") if "line" in each.get("class", "").split()]
    assert [line.findtext(f"{SVG}text") for line in lines] == ["p = 0.2", "p = 0.4", "p = 0.6", "p = 0.8"]
    grid = {each.text: float(each.get("y")) - 4 for each in root.iter(f"{SVG}text") if "%" in str(each.text)}
    starts = [float(line.find(f"{SVG}polyline").get("points").split()[0].split(",")[1]) for line in lines]
    assert starts == pytest.approx([grid[f"{height}\u00a0%"] for height in (20, 40, 60, 80)], abs=0.2)


def test_the_curves_as_json(command):
    arguments = ("bound", "plot", "--out", "two.svg", "--classes", "2", "--noise", "0.1,0.5", "--json")
    found = json.loads(command(*arguments).out)
    assert [curve["noise"] for curve in found["curves"]] == [0.1, 0.5]
    assert found["curves"][0]["least_error"][0] == pytest.approx(0.1)
