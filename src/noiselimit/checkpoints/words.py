"""What is said when runs go on from their checkpoints, and when they cannot."""

import warnings
from collections.abc import Sequence
from pathlib import Path

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


def tell_of_useless(folder: Path, useless: int, runs: int) -> None:
    """Say why so many of so many runs start anew although they have checkpoints."""
    warnings.warn(
        f"{useless} of {runs} runs start anew: their checkpoints in {folder} lack the averages of "
        "probabilities that this call asks for.",
        Notice,
        stacklevel=4,
    )


def tell_of_others(folder: Path, others: int) -> None:
    """Say why all runs start anew although there are checkpoints, if so many other runs have some."""
    if others:
        runs = "another run" if others == 1 else f"{others} other runs"
        warnings.warn(
            f"training starts anew: {folder} holds states of {runs} alone, with other settings or data.",
            Notice,
            stacklevel=4,
        )
