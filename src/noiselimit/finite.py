"""JSON of files that others made: what it says can be reckoned with and written again."""

import json
from typing import Any

LARGEST = 1e300
"""Of a number in a file: sums and means of such are still finite."""


def finite_json(text: str) -> Any:
    """The JSON value, in which numbers are finite and text can be written again; else a ValueError."""

    def finite(number: str) -> float:
        if not abs(float(number)) < LARGEST:
            raise ValueError(f"{number} is no number to reckon with")
        return float(number)

    def countable(number: str) -> int:
        if not -(2**63) <= int(number) < 2**63:
            raise ValueError(f"{number[:30]} is beyond all that is counted here")
        return int(number)

    value = json.loads(text, parse_float=finite, parse_constant=finite, parse_int=countable)
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is an error
    return value
