"""What somebody asked `noiselimit reproduce NAME` for."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from noiselimit.errors import InputError, number, unknown
from noiselimit.machine import MOST_THREADS
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.studies import STUDIES


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for; None is what the paper has."""

    name: str
    out: Path
    runs: Path = Path("runs/reproduce")
    seeds: Sequence[int] | None = None
    methods: Sequence[str] | None = None
    problems: Sequence[str] | None = None
    values: Sequence[str] | None = None
    """Of the grids, such as 'beta=30'."""
    epochs: int | None = None
    finalists: int | None = None
    budget_minutes: float | None = None
    data_dir: Path | None = None
    download: bool = False
    device: str = "auto"
    threads: int | None = None
    bench: Path | None = None
    quick: bool = False
    started: float = field(default_factory=time.monotonic)
    """When the budget began."""

    def __post_init__(self) -> None:
        if self.name not in STUDIES and self.name not in FIGURES:
            raise unknown("table or figure", self.name, [*STUDIES, *FIGURES])
        for name in ("seeds", "methods", "problems", "values", "finalists") if self.name in FIGURES else ():
            if getattr(self, name) is not None:
                option = "cells" if name == "problems" else name
                raise InputError(f"{option} is given, but '{self.name}' is a figure: leave it out.")
        for name in ("epochs", "budget_minutes") if self._trains_nothing else ():
            if getattr(self, name):  # a budget of 0 asks for no more than that
                raise InputError(f"{name} is given, but nothing is trained for '{self.name}': leave it out.")
        for name in ("epochs", "finalists"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}: give a whole number ≥ 1.")
        if self.budget_minutes is not None:
            number("budget_minutes", self.budget_minutes, at_least=0.0)
        if self.seeds is not None and any(seed < 0 for seed in self.seeds):
            raise InputError(f"seeds is {','.join(map(str, self.seeds))}: give whole numbers ≥ 0.")
        # `train` asks that too, but only once there is something to train.
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InputError(f"threads is {self.threads}: give a whole number from 1 to {MOST_THREADS}.")

    @property
    def _trains_nothing(self) -> bool:
        return self.name in FIGURES and FIGURES[self.name].data is None

    def runs_folder(self, data: str) -> Path:
        """Where runs of this data set are being trained."""
        return self.runs / (f"{data}-quick" if self.quick else data)
