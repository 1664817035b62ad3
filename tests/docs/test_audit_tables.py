"""The page on audits says what its result files say: who is first, and where it is not us."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from noiselimit.bench.detection.result import KIND, SCHEMA, current_plans
from noiselimit.errors import InputError

DOCS = Path(__file__).resolve().parents[2] / "docs"
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
    return importlib.import_module("pages.audit.tables")


def row(seed: int, noise: str = "uniform:0.2", data: str = "digits", **auroc: float) -> dict[str, Any]:
    """Figures made up from the AUROC of a method; those of wrong labels where there are any."""
    methods: dict[str, Any] = {}
    for name, value in auroc.items():
        some = {"auroc": value, "auprc": value - 0.1, "auroc_seen": value, "auroc_held_out": value - 0.2}
        flags = {"f1": value - 0.3, "flagged": 0.01, "noise_rate_error": value - 1}
        parts = {"recall_seen": 0.9, "recall_held_out": 0.8, "interval": [0.1, 0.1 + 0.1 * value]}
        some |= {**parts, "false_positives_seen": 0.01, "false_positives_held_out": 0.02}
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
    now = tables.blocks([content(*OURS_FIRST)])
    before = tables.blocks([content(*OURS_FIRST, plans={"default": {}})])
    for name in ("detection", "detection-seen", "detection-range"):
        assert tables.OUTDATED not in now[name]
        assert tables.OUTDATED in before[name]
    mixed = [content(*OURS_FIRST), content(row(0, data="mnist", ours_default=0.9), plans={})]
    assert "The rows of mnist were measured before" in tables.blocks(mixed)["detection-seen"]


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
    line = next(line for line in blocks["detection-seen"].splitlines() if "| `noiselimit audit` |" in line)
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "digits uniform:0.2",
        "`noiselimit audit`",
        "0.9905 ± 0.0007",
        "0.9905 ± 0.0007",
        "0.7905 ± 0.0007",
        "90.00 ± 0.00 %",
        "80.00 ± 0.00 %",
        "1.00 ± 0.00 %",
        "2.00 ± 0.00 %",
    ]
    assert "digits none" not in blocks["detection"]


def parted(together: float, seen: float, held_out: float, noise: str = "uniform:0.2") -> dict[str, Any]:
    found = row(0, noise, ours_default=together)
    figures = {"auroc_seen": seen, "auroc_held_out": held_out}
    return {**found, "methods": {"ours-default": {**found["methods"]["ours-default"], **figures}}}


def test_what_parts_say_is_said_by_the_figures(tables: ModuleType) -> None:
    alike = parted(0.97, 0.965, 0.974)
    block = tables.blocks([content(alike)])["detection-seen"]
    assert "or worse by no more than 0.01 of AUROC, on 1 of 1 problems. Both together" in block
    assert "as if both had one scale, on 1 of 1 problems." in block
    two_scales = parted(0.9, 0.97, 0.96, "next:0.3")
    seen_worse = parted(0.93, 0.92, 0.97, "instance:0.3")
    block = tables.blocks([content(alike, two_scales, seen_worse)])["detection-seen"]
    assert "of AUROC, on 2 of 3 problems, but not on digits instance:0.3 (0.050 below). Both" in block
    assert "one scale, on 2 of 3 problems, but not on digits next:0.3 (0.060 below)." in block
    flags = "flags 90.0 % and 80.0 % of the wrong labels, seen and held out, and 1.0 % and 2.0 % of the right"
    assert flags in block.replace("\u00a0", " ")
    entry = {**alike["methods"]["ours-default"], "recall_seen": 0.7}
    block = tables.blocks([content({**alike, "methods": {"ours-default": entry}})])["detection-seen"]
    assert "ones; fewer of the wrong ones seen than held out on digits uniform:0.2 (0.10 below)." in block


def told(seed: int, *runs: dict[str, Any], data: str = "digits") -> dict[str, Any]:
    found = row(seed, data=data, ours_default=0.9, ours_fast=0.9, cleanlab_self_confidence_last=0.8)
    methods = {**found["methods"], "ours-fast": {**found["methods"]["ours-fast"], "trained": list(runs)}}
    return {**found, "methods": methods}


def test_recipes_are_told_by_data_set(tables: ModuleType) -> None:
    first = {"method": "limit-l", "beta": 3.0, "epochs": 18, "counted": True}
    block = tables.blocks([content(told(0, first), told(1, {**first, "counted": False}))])["detection-seen"]
    line = "- digits (small-cnn): `noiselimit audit --fast` limit-l (β 3), which counted in 1 of 2 rows."
    assert line in block
    assert "the files do not tell" in tables.blocks([content(*OURS_FIRST)])["detection-seen"]


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"method": "limit-l", "epochs": 30}, "few steps of an epoch, and an audit takes 150 steps at least"),
        ({"method": "limit-l+init", "epochs": 18}, ": what starts from a CE run waits for that"),
        ({"method": "limit-l", "epochs": 18}, ": a step of LIMIT trains two networks"),
    ],
)
def test_why_fast_is_slow(tables: ModuleType, run: dict[str, Any], reason: str) -> None:
    block = tables.blocks([content(told(0, {"beta": 3.0, "counted": True, **run}))])["detection"]
    assert f"takes more than 0.5 on digits uniform:0.2 (0.55): {reason.removeprefix(': ')}" in block or (
        "takes more than 0.5 on digits uniform:0.2 (0.55): so" in block and reason in block
    )


def test_what_the_scale_is_worth_stands_where_labels_were_memorised(tables: ModuleType) -> None:
    rows = [row(seed, ours_default=0.9, ours_fast=0.8) for seed in (0, 1)]
    for each in rows:
        for found in each["methods"].values():
            found |= {"auroc_unscaled": 0.7, "f1_unscaled": 0.4, "known_from": each["n"]}
    nothing = "No label was found memorised in any seed on {} audits of data with wrong labels"
    assert nothing.format("2 of 2") in tables.blocks([content(*rows)])["detection-seen"]
    rows[1]["methods"]["ours-fast"]["known_from"] = 300
    block = tables.blocks([content(*rows)])["detection-seen"]
    line = "| digits uniform:0.2 | `noiselimit audit --fast` | 1 of 2 | 0.8000 ± 0.0000 | 0.7000 ± 0.0000 |"
    assert line in block
    assert nothing.format("1 of 2") in block


def test_how_often_the_range_held_the_truth(tables: ModuleType) -> None:
    """The rows' ranges end at 0.1 + a tenth of the AUROC, and 0.198 are wrong."""
    block = tables.blocks([content(row(0, ours_default=1.0), row(1, ours_default=0.8))])["detection-range"]
    assert block == (
        "The range of `noiselimit audit` held the share of labels that were made wrong in 1 of 2 runs, and "
        "was 9.0 % of the labels wide on average; it did not always on digits uniform:0.2 (1 of 2)."
    )


def test_shares_are_means_over_seeds(tables: ModuleType) -> None:
    rows = [{**each, "wrong": share} for each, share in zip(OURS_FIRST, (0.1, 0.3), strict=True)]
    assert "| digits uniform:0.2 | 20.0\u00a0% |" in tables.blocks([content(*rows)])["detection"]


def test_data_that_selected_nothing_stand_apart(tables: ModuleType) -> None:
    other = [
        content(row(0, "uniform:0.1", data, ours_default=0.9, aum_last=0.95)) for data in ("wine", "shapes")
    ]
    blocks = tables.blocks([content(*OURS_FIRST), *other])
    assert "were selected on these very data" in blocks["detection"]
    assert "wine" not in blocks["detection"]
    assert "selected" not in blocks["detection-other"]
    assert (
        "on 0 of 2 problems (seed by seed, in 0 of 2 cases); it is not on wine" in blocks["detection-other"]
    )
    assert "over seeds; wine: 1,797 examples" in blocks["detection-other"]
    assert blocks["detection-other"].count("Measured on a processor") == 1
    assert tables.blocks([content(*OURS_FIRST)])["detection-other"] == tables.MISSING_OTHER


def test_our_score_on_folds_is_no_peer(tables: ModuleType) -> None:
    ahead = row(0, ours_default=0.97, aum_last=0.9, folds_averaged=0.98)
    block = tables.blocks([content(ahead)])["detection"]
    assert "ahead of every peer on 1 of 1 problems (seed by seed, in 1 of 1 cases)" in block
    assert "ahead of that on 0 of 1 problems (0.9700 against 0.9800 on average)." in block


def test_a_gpu_is_timed_by_the_clock(tables: ModuleType) -> None:
    block = tables.blocks([content(*OURS_FIRST, device_type="cuda")])["detection"]
    assert "| 1.00 | 1.00 |" in block
    assert "thread" not in block


def test_files(tables: ModuleType, tmp_path: Path) -> None:
    assert set(tables.blocks(tables.stored(tmp_path)).values()) == {tables.MISSING, tables.MISSING_OTHER}
    two = content(*OURS_FIRST, row(0, data="mnist", ours_default=0.9, aum_last=0.8))
    (tmp_path / "detection-a.json").write_text(json.dumps(two))
    (tmp_path / "detection-quick.json").write_text(json.dumps({**two, "quick": True}))
    found = tables.stored(tmp_path)
    assert [each["rows"][0]["problem"]["data"] for each in found] == ["digits", "mnist"]
    (tmp_path / "detection-b.json").write_text("{}")
    with pytest.raises(InputError, match="holds no comparison"):
        tables.stored(tmp_path)
