"""The page on audits says what its result files say: who is first, and where it is not us."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.bench.detection.result import KIND, SCHEMA, current_plans
from noiselimit.errors import InputError

DOCS = Path(__file__).resolve().parent.parent / "docs"
TRAININGS = ("folds", "plain", "margins", "default", "fast")
TRAINING = {
    "network": "small-cnn",
    "epochs": 30,
    "batch_size": 89,
    "optimiser": "adam",
    "learning_rate": 0.001,
    "augmentation": "none",
    "precision": "float32",
}


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    sys.path.insert(0, str(DOCS))
    spec = importlib.util.spec_from_file_location("audit_tables", DOCS / "audit_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(seed: int, noise: str = "uniform:0.2", data: str = "digits", **auroc: float) -> dict[str, Any]:
    """Figures made up from the AUROC of a method; those of wrong labels where there are any."""
    methods: dict[str, Any] = {}
    for name, value in auroc.items():
        some = {"auroc": value, "auprc": value - 0.1, "auroc_seen": value, "auroc_held_out": value - 0.2}
        flags = {"f1": value - 0.3, "flagged": 0.01, "noise_rate_error": value - 1}
        none = {"auroc": None, "auprc": None, "f1": None, "flagged": 0.0125, "noise_rate_error": 0.01}
        methods[name.replace("_", "-")] = none if noise == "none" else {**some, **flags}
    seconds = {"folds": 10.0, "plain": 2.0, "margins": 2.5, "default": 8.0, "fast": 5.5}
    return {
        "problem": {"data": data, "noise": noise, "seed": seed, "examples": None},
        "n": 1797,
        "wrong": 0.0 if noise == "none" else 0.198,
        "training": TRAINING,
        "date": "2020-01-01T00:00:00+00:00",
        "commit": "0123456789abcdef",
        "failures": {},
        "trainings": {
            name: {"seconds": 99.0, "cpu_seconds": seconds[name], "peak_memory": 450_000_000}
            for name in TRAININGS
        },
        "methods": methods,
    }


def content(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "device": "a processor",
        "device_type": "cpu",
        "threads": 1,
        "versions": {"torch": "2"},
        "quick": False,
        "plans": current_plans(),
        "rows": list(rows),
        **changes,
    }


OURS_FIRST = [
    row(
        seed,
        ours_default=0.99 + seed / 1000,
        ours_fast=0.98,
        aum_last=0.9,
        cleanlab_self_confidence_last=0.95,
    )
    for seed in (0, 1)
]


def test_who_is_first(tables: ModuleType) -> None:
    block = tables.blocks([content(*OURS_FIRST)])["detection"]
    assert "In mean AUROC the default audit is ahead of every peer on 1 of 1 problems" in block
    assert "(seed by seed, in 2 of 2 cases)." in block
    assert "**0.9905 ± 0.0007**" in block
    assert "| 0.9500 ± 0.0000 (cleanlab, self-confidence) |" in block
    assert "| 0.80 | 0.55 |" in block
    assert "(aim: at most 1, kept on 1 of 1)" in block
    assert "(aim: at most 0.5, kept on 0 of 1)" in block
    assert "one after another" not in block
    single = [{**each, "methods": {**each["methods"], "ce-loss-last": {"auroc": 0.5}}} for each in OURS_FIRST]
    block = tables.blocks([content(*single)])["detection"]
    assert "(aim: at most 1, kept on 1 of 1), 0.80 of it if the folds trained one after another" in block
    assert "a processor, 1 thread (torch 2; commit 0123456789; 2020-01-01)" in block


def test_what_audits_train_is_said(tables: ModuleType) -> None:
    first = OURS_FIRST[0]
    assert "trains" not in tables.blocks([content(first)])["detection"]
    runs = [{"method": "limit-l", "beta": beta, "epochs": 24} for beta in (3.0, 10.0)]
    ours = {**first["methods"]["ours-default"], "trained": runs}
    told = {**first, "methods": {**first["methods"], "ours-default": ours}}
    sentence = "`noiselimit audit` trains limit-l (β 3) and limit-l (β 10) for 24 epochs."
    assert sentence in tables.blocks([content(told)])["detection"]


def test_rows_of_an_earlier_audit_are_told_from_those_of_this_one(tables: ModuleType) -> None:
    assert tables.OUTDATED not in tables.blocks([content(*OURS_FIRST)])["detection"]
    assert tables.OUTDATED in tables.blocks([content(*OURS_FIRST, plans={"default": {}})])["detection"]


def test_where_we_are_not_first_it_is_said(tables: ModuleType) -> None:
    other = row(0, "instance:0.3", ours_default=0.9, ours_fast=0.89, aum_stopped=0.97)
    block = tables.blocks([content(*OURS_FIRST, other)])["detection"]
    assert (
        "on 1 of 2 problems (seed by seed, in 2 of 3 cases); it is not on digits instance:0.3 (AUM, stopped"
        in block
    )
    assert "**0.9700 ± 0.0000**" in block


def test_equal_means_are_not_ahead(tables: ModuleType) -> None:
    same = row(0, ours_default=0.97, aum_last=0.97)
    block = tables.blocks([content(same)])["detection"]
    assert (
        "on 0 of 1 problems (seed by seed, in 0 of 1 cases); it is not on digits uniform:0.2 (AUM)." in block
    )


def test_every_tool_has_its_row(tables: ModuleType) -> None:
    block = tables.blocks([content(*OURS_FIRST)])["detection-tables"]
    assert "**digits uniform:0.2**, seeds 0, 1" in block
    line = next(line for line in block.splitlines() if line.startswith("| `noiselimit audit` |"))
    assert [cell.strip() for cell in line.strip("|").split("|")][1:] == [
        "**0.9905 ± 0.0007**",
        "**0.8905 ± 0.0007**",
        "**0.6905 ± 0.0007**",
        "**-0.010 ± 0.001**",
        "8.0 ± 0.0",
        "**450 MB**",
    ]
    assert block.count("**450 MB**") == 4, "equal ones are all bold"


def test_clean_labels_and_seen_ones(tables: ModuleType) -> None:
    clean = row(
        0, "none", ours_default=1.0, cleanlab_self_confidence_last=1.0, cleanlab_normalized_margin_last=1.0
    )
    blocks = tables.blocks([content(*OURS_FIRST, clean)])
    assert "| digits | `noiselimit audit` | 1.25 ± 0.00 % |" in blocks["detection-clean"]
    assert blocks["detection-clean"].count("cleanlab") == 1
    assert "| digits uniform:0.2 | 0.9905 ± 0.0007 | 0.7905 ± 0.0007 |" in blocks["detection-seen"]
    assert "digits none" not in blocks["detection"]


def test_a_gpu_is_timed_by_the_clock(tables: ModuleType) -> None:
    block = tables.blocks([content(*OURS_FIRST, device_type="cuda")])["detection"]
    assert "| 1.00 | 1.00 |" in block
    assert "thread" not in block


def test_files(tables: ModuleType, tmp_path: Path) -> None:
    assert set(tables.blocks(tables.stored(tmp_path)).values()) == {tables.MISSING}
    two = content(*OURS_FIRST, row(0, data="mnist", ours_default=0.9, aum_last=0.8))
    (tmp_path / "detection-a.json").write_text(json.dumps(two))
    (tmp_path / "detection-quick.json").write_text(json.dumps({**two, "quick": True}))
    found = tables.stored(tmp_path)
    assert [each["rows"][0]["problem"]["data"] for each in found] == ["digits", "mnist"]
    (tmp_path / "detection-b.json").write_text("{}")
    with pytest.raises(InputError, match="holds no comparison"):
        tables.stored(tmp_path)
