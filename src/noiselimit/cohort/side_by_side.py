"""Rows that do not know of each other may fill the gaps that each leaves on a GPU."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch

Result = TypeVar("Result")

STREAMS = 2
"""Enough for the two networks of one run; more rows than that take turns."""


def side_by_side(one: Callable[[int], Result], rows: int, device: torch.device) -> list[Result]:
    """`one(row)` of every row; on a GPU neighbouring rows at the same time, gradients likewise.

    Autograd goes back through an operation on the stream that it came on.
    """
    if device.type != "cuda" or rows == 1 or STREAMS == 1:
        return [one(row) for row in range(rows)]
    here = torch.cuda.current_stream(device)
    streams = _streams(device, min(STREAMS, rows))
    results = []
    for stream in streams:
        stream.wait_stream(here)
    for row in range(rows):
        with torch.cuda.stream(streams[row % len(streams)]):
            results.append(one(row))
    for stream in streams:
        here.wait_stream(stream)
    return results


@cache
def _streams(device: torch.device, count: int) -> list[torch.cuda.Stream]:
    """Always the same ones: each stream has its own share of the memory that torch keeps."""
    return [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]
