"""The promise of the first minute: three seeds of the demo, trained here and now."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from noiselimit.cli.demo import BETAS, demo_specs, run_demo

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("demo")
    run_demo(out, seeds=(0, 1, 2))
    return out, json.loads((out / "summary.json").read_text())


def test_limit_learns_where_cross_entropy_memorises(demo: tuple[Path, list[dict[str, Any]]]) -> None:
    _, lines = demo
    chosen = [line for line in lines if line["chosen"]]
    baseline = [line for line in lines if line["method"] == "ce"]
    assert len(chosen) == len(baseline) == 3
    assert all(line["method"].startswith("limit") for line in chosen)
    assert fmean(line["test_accuracy"] for line in chosen) >= 0.95
    assert fmean(line["gap_auc"] for line in chosen) >= 0.995
    assert fmean(line["last_test_accuracy"] for line in baseline) <= 0.78
    assert fmean(line["memorised_wrong_labels"] for line in baseline) > 0.9
    assert fmean(line["memorised_wrong_labels"] for line in chosen) < 0.1


def test_the_published_figures_are_what_training_gives(demo: tuple[Path, list[dict[str, Any]]]) -> None:
    """Within a few points: other processors round otherwise."""
    published = json.loads((Path(__file__).parent.parent / "results" / "demo.json").read_text("utf-8"))[
        "runs"
    ]
    for name, tolerance in (("test_accuracy", 0.03), ("last_test_accuracy", 0.05), ("gap_auc", 0.01)):
        for method in ("ce", "limit-l", "limit-g"):
            ours, theirs = (
                fmean(line[name] for line in lines if line["method"] == method)
                for lines in (demo[1], published)
            )
            assert ours == pytest.approx(theirs, abs=tolerance)


def test_every_run_has_a_folder_and_a_line(demo: tuple[Path, list[dict[str, Any]]]) -> None:
    out, lines = demo
    assert len(lines) == 3 * (1 + 2 * len(BETAS))
    for line in lines:
        assert (out / line["folder"] / "metrics.json").exists()
    page = (out / "report.html").read_text("utf-8")
    assert page.count("data:image/png") == 40
    assert page.count("<svg") >= 3


def test_all_runs_are_one_cohort(demo: tuple[Path, list[dict[str, Any]]]) -> None:
    out, lines = demo
    sizes = {json.loads((out / line["folder"] / "metrics.json").read_text())["cohort"] for line in lines}
    assert sizes == {len(demo_specs((0, 1, 2)))}
