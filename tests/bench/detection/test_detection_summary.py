"""Means and deviations over seeds, of figures and of costs."""

from typing import Any

import pytest

from noiselimit.bench.detection.summary import Figure, method_cost, summarise


def row(seed: int, noise: str = "uniform:0.2", **auroc: float | None) -> dict[str, Any]:
    took = {"seconds": 1.0 + seed, "cpu_seconds": 2.0, "peak_memory": 100 * (seed + 1)}
    return {
        "problem": {"data": "digits", "noise": noise, "seed": seed, "examples": None},
        "trainings": dict.fromkeys(("folds", "plain", "margins", "default", "fast"), took),
        "methods": {name.replace("_", "-"): {"auroc": value} for name, value in auroc.items()},
    }


def test_means_over_seeds() -> None:
    (found,) = summarise([row(0, ours_default=0.9, aum_last=0.5), row(1, ours_default=0.7, aum_last=0.6)])
    assert found.seeds == [0, 1]
    assert found.methods["ours-default"]["auroc"] == Figure(pytest.approx(0.8), pytest.approx(0.02**0.5))
    assert found.methods["ours-default"]["seconds"].mean == 1.5
    assert "f1" not in found.methods["ours-default"]
    assert found.best("auroc") == "ours-default"
    assert found.best("auroc", ["aum-last"]) == "aum-last"
    assert found.best("f1") is None


def test_what_a_seed_lacks_is_left_out() -> None:
    (found,) = summarise([row(0, ours_default=None, aum_last=0.5), row(1, ours_default=0.7)])
    assert "auroc" not in found.methods["ours-default"]
    assert found.methods["aum-last"]["auroc"] == Figure(0.5, 0.0)


def test_problems_stay_apart() -> None:
    found = summarise([row(0, aum_last=0.5), row(0, "none", aum_last=None), row(1, aum_last=0.5)])
    assert [(each.noise, each.seeds) for each in found] == [("uniform:0.2", [0, 1]), ("none", [0])]


def test_a_tool_pays_for_all_that_it_needs() -> None:
    assert method_cost(row(1, aum_last=0.5), "aum-stopped") == {
        "seconds": 4.0,
        "cpu_seconds": 4.0,
        "peak_memory": 200,
    }
