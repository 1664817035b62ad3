from typing import Any

import numpy as np
import pytest

from noiselimit.errors import InputError
from noiselimit.report import Report, Suspect


@pytest.mark.parametrize(
    ("given", "suggested", "clean", "verdict"),
    [
        ("1", "3", "3", "found"),
        ("1", "2", "3", "half"),
        ("3", "2", "3", "right"),
        ("3", "3", "3", "right"),
        ("1", "3", None, None),
    ],
)
def test_verdict_compares_with_the_clean_label(
    given: str, suggested: str, clean: str | None, verdict: str | None
) -> None:
    assert Suspect(0, given, suggested, 1.0, clean).verdict == verdict


@pytest.mark.parametrize("name", ["gaps_right", "gaps_wrong"])
def test_gaps_of_another_shape_are_refused_by_name(name: str) -> None:
    gaps: dict[str, Any] = {name: np.zeros((2, 3))}
    with pytest.raises(InputError, match=rf"{name} has shape \[2, 3\]"):
        Report("t", "s", **gaps)
