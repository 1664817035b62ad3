"""The points of sweeps, and which K the sweep over n takes."""

import pytest

from noiselimit.bench.sweeps import best_cohort, chosen_sweeps, points
from noiselimit.errors import InputError


def test_points_on_a_gpu():
    found = points(["k", "n"], "cuda", quick=False)
    assert [point.runs for point in found if point.sweep == "k"] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    sizes = [point.train_size for point in found if point.sweep == "n" and point.runs == 1]
    assert (sizes[0], sizes[-1]) == (1_000, 48_000)
    assert sum(point.sweep == "n" and point.runs is None for point in found) == len(sizes)


def test_points_on_a_cpu_end_at_eight():
    assert [point.runs for point in points(["k"], "cpu", quick=False)] == [1, 2, 4, 8]


def test_names_of_sweeps():
    assert chosen_sweeps(None, "cpu") == []
    assert chosen_sweeps("all", "cuda") == ["k", "n"]
    assert chosen_sweeps("memory", "cuda") == ["memory"]
    with pytest.raises(InputError, match="memory of a GPU"):
        chosen_sweeps("memory", "cpu")
    with pytest.raises(InputError, match="unknown sweep 'x'"):
        chosen_sweeps("x", "cpu")


def test_the_best_k_so_far():
    tried = [{"k": 8, "seconds": 2.0}, {"k": 64, "seconds": 0.5}]
    swept = [
        {"sweep": "k", "k": 1, "seconds": 0.1},  # a cohort of one is the other curve
        {"sweep": "k", "k": 128, "failure": "out of memory"},
        {"sweep": "n", "k": 2, "seconds": 0.01},  # of fewer examples
    ]
    rows = [{"row": "mnist-cohort", "tried": tried}]
    assert best_cohort({"rows": rows, "points": swept}, "cuda") == 64
    swept.append({"sweep": "k", "k": 32, "seconds": 0.4})
    assert best_cohort({"rows": rows, "points": swept}, "cuda") == 32
    assert best_cohort({"rows": [], "points": []}, "cpu") == 8
