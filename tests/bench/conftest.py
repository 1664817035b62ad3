"""Bench files made by hand."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def content() -> Make:
    """The content of a bench file with these rows and points, everything else at some value."""

    def make(
        *rows: dict[str, Any], points: tuple[dict[str, Any], ...] = (), **changes: Any
    ) -> dict[str, Any]:
        return {
            "kind": "noiselimit bench",
            "schema": 1,
            "date": "2020-01-01T00:00:00+00:00",
            "device": "a device",
            "device_type": "cpu",
            "versions": {"torch": "2"},
            "threads": 2,
            "commit": None,
            "changed": None,
            "quick": False,
            "precision": "float32",
            "finished": True,
            "ceilings": {"tflop_per_s": 2.0, "gb_per_s": 10.0, "precision": "float32"},
            "rows": list(rows),
            "points": list(points),
            **changes,
        }

    return make
