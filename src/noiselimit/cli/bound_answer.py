"""How the commands of noiselimit bound answer."""

import math
import sys
from typing import Any

ROUNDING = 1e-12  # what is less came from subtracting equal numbers


def answer(name: str, value: float, vacuous: str, facts: dict[str, Any], as_json: bool) -> None:
    """The number alone on stdout; if it says nothing, why so on stderr."""
    import json

    value = value if value > ROUNDING else 0.0
    if as_json:
        finite = {key: None if fact == math.inf else fact for key, fact in {name: value, **facts}.items()}
        print(json.dumps({**finite, "vacuous": bool(vacuous)}))
        return
    print(f"{value:.3g}" if value < 100 else f"{value:.0f}")
    if vacuous:
        print(f"vacuous: {vacuous}", file=sys.stderr)
