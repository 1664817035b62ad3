"""A tool's figures are of what its users get."""

import numpy as np
import pytest

from noiselimit.bench.detection.methods import entries

GIVEN = np.repeat([0, 1], 50)
WRONG = np.arange(100) % 10 == 0


def ours(warning: str) -> dict[str, np.ndarray]:
    right = np.where(WRONG, 1 - GIVEN, GIVEN)
    table = np.full((100, 2), 0.03, np.float32)
    table[np.arange(100), right] = 0.97
    seen = np.arange(100) % 7 > 0
    memorised = table.copy()
    memorised[seen & WRONG, GIVEN[seen & WRONG]] = 0.97
    memorised[seen & WRONG, 1 - GIVEN[seen & WRONG]] = 0.03
    found = {"probabilities": table, "unscaled": memorised, "seen": seen, "trained": np.array("[]")}
    return {**found, "warning": np.array(warning), "known_from": np.array(20)}


@pytest.mark.parametrize(("warning", "flagged"), [("", 0.1), ("Nothing was learned.", 0.0)])
def test_an_audit_that_warns_is_credited_with_no_flags(warning: str, flagged: float) -> None:
    entry = entries({"default": ours(warning)}, GIVEN, WRONG)["ours-default"]
    assert entry["flagged"] == pytest.approx(flagged)
    assert entry["warning"] == (warning or None)
    assert ("interval" in entry) == ("noise_rate" in entry) == (not warning)
    assert entry["auroc"] == 1.0, "the order of the labels is written all the same"


def test_what_memory_would_cost_stands_beside_it() -> None:
    entry = entries({"default": ours("")}, GIVEN, WRONG)["ours-default"]
    assert entry["f1"] == 1.0
    assert entry["f1_unscaled"] < 0.5
    assert entry["auroc_unscaled"] < 0.7
