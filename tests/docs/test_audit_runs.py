"""Outputs of an earlier audit are told from those of today's."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from noiselimit.data.digits import digits


@pytest.fixture
def runs(document_module: Callable[[str], ModuleType]) -> ModuleType:
    return document_module("pages.audit.runs")


def told(runs: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    """As `noiselimit audit --json` tells them: with more than settings."""
    return [{**run, "seed": 0, "counted": True, "failure": None, **changes} for run in runs]


def test_other_settings_are_noticed(runs: ModuleType) -> None:
    planned = runs.planned_runs(digits())
    assert {run["network"] for run in planned} == {"small-cnn"}
    assert not runs.is_outdated(told(planned), digits())
    for changes in ({"epochs": 999}, {"beta": 0.5}, {"method": "ce"}, {"network": "mlp"}):
        assert runs.is_outdated(told(planned, **changes), digits())
    assert runs.is_outdated(told(planned)[:1], digits())


def test_rows_without_content_have_the_plan_of_their_number(runs: ModuleType) -> None:
    few, many = (runs.planned_runs(runs.rows_like(rows, 50, 10)) for rows in (1000, 1_000_000))
    assert {run["network"] for run in few + many} == {"mlp"}
    assert few[0]["epochs"] > many[0]["epochs"]


def test_the_page_says_so(runs: ModuleType, document_module: Callable[[str], ModuleType]) -> None:
    shown = document_module("measure_audit")
    today = {"printed": "About 3 labels.\n", "runs": told(runs.planned_runs(digits()))}
    assert shown.output(today) == "```text\nAbout 3 labels.\n```"
    assert shown.output({**today, "runs": today["runs"][:1]}).endswith(runs.OUTDATED)


def test_so_does_the_table_of_sizes(runs: ModuleType, document_module: Callable[[str], ModuleType]) -> None:
    sizes = document_module("measure_audit_scale")
    content = sizes.stored()
    assert content is not None
    for row in content["rows"]:
        row["runs"] = told(runs.planned_runs(runs.rows_like(row["rows"], row["features"], row["classes"])))
    assert runs.OUTDATED not in sizes.table(content)
    content["rows"][0]["runs"][0]["epochs"] += 1
    assert sizes.table(content).endswith(runs.OUTDATED)
