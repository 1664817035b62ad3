"""docs/audit.md says what an audit trains as the recipes do."""

from pathlib import Path

import pytest

from noiselimit.audit.candidates import DEFAULT_RECIPES, FAST_RECIPES

SHARES = {1.0: "", 2 / 3: "two thirds of the epochs", 0.8: "four fifths of the epochs"}
FAST_SHARES = {2 / 3: "two thirds of the epochs", 0.6: "60 % of the epochs", 0.55: "55 % of the epochs"}


@pytest.mark.parametrize(
    ("kind", "network"), [("simple", "features"), ("pictures", "other pictures"), ("residual", "residual")]
)
def test_shares_of_epochs(kind: str, network: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {network}")]
    _, _, usual, fast, _ = row.split("|")
    said, said_fast = SHARES[getattr(DEFAULT_RECIPES, kind).share_of_epochs], getattr(FAST_RECIPES, kind)
    assert said in usual
    assert said or "epochs" not in usual
    assert FAST_SHARES[said_fast.share_of_epochs] in fast
