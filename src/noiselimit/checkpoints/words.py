"""What is said when runs go on from their checkpoints."""

import warnings
from collections.abc import Sequence

import torch

from noiselimit.checkpoints.content import Entry
from noiselimit.errors import Notice


def tell_of_begun(begun: Sequence[Entry], runs: int) -> None:
    """Say how many of so many runs go on from where, if any do."""
    if not begun:
        return
    epochs = [entry.epoch for entry in begun]
    first, last = min(epochs), max(epochs)
    where = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    others = sorted({entry.torch for entry in begun} - {torch.__version__})
    before = f" that torch {', '.join(others)} computed, so that last digits may differ" if others else ""
    warnings.warn(f"{len(begun)} of {runs} runs go on from {where}{before}.", Notice, stacklevel=3)
