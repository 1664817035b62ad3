"""A bad input, and what is said about it: the same for the tests and for the table in docs/reliability.md."""

import contextlib
import io
import json
import os
import re
import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.cli.main import run
from noiselimit.errors import InputError

STORED = Path(__file__).resolve().parents[2] / "results" / "bad-input.json"


@dataclass(frozen=True, eq=False)
class Case:
    """One mistake."""

    group: str
    what: str
    """In a few words, unique in its group."""
    asked: tuple[str, ...] | str
    """The words of a command line, or Python code."""
    words: tuple[str, ...]
    """What the message must say."""
    prepare: Callable[[Path], object] = lambda folder: None
    """Puts the bad files into the folder, beside a good table.npz."""
    needs_run: bool = False
    """Whether a good run folder called run must be there too."""

    @property
    def key(self) -> str:
        return f"{self.group}: {self.what}"

    @property
    def shown(self) -> str:
        """What a person types."""
        return self.asked if isinstance(self.asked, str) else shlex.join(("noiselimit", *self.asked))


@dataclass(frozen=True)
class Said:
    """The answer: in Python the message of the exception, else what was printed and the exit code."""

    message: str
    code: int = 2
    printed: str = ""


def write_good(folder: Path) -> None:
    """60 feature vectors of three classes in table.npz."""
    generator = np.random.default_rng(1)
    labels = np.arange(60) % 3
    inputs = generator.normal(size=(60, 5)) + 3 * np.eye(5)[labels]
    np.savez(folder / "table.npz", inputs=inputs.astype(np.float32), labels=labels)


def write_run(folder: Path) -> Path:
    """A run on that table, in folder/run."""
    grid = ["--method", "limit-l", "--beta", "10", "--noise", "uniform:0.4", "--epochs", "2", "--quiet"]
    out = folder / "runs"
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["train", "--data", str(folder / "table.npz"), *grid, "--out", str(out)]) == 0
    return next(out.glob("limit-l-*")).rename(folder / "run")


def ask(case: Case) -> Said:
    """What is said in the working folder, where everything is prepared."""
    if isinstance(case.asked, str):
        names: dict[str, Any] = {"np": np}
        try:
            exec(f"import noiselimit\nimport pandas as pd\n{case.asked}", names)
        except InputError as error:
            return Said(str(error))
        raise AssertionError(f"{case.asked} was accepted")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")  # a person would see them
        code = run(case.asked)
    return Said(err.getvalue(), code, out.getvalue())


def stable(message: str) -> str:
    """Without where we are, how many cores there are, and the ends of lists, which grow with every option."""
    text = message.removeprefix("noiselimit: ").strip().replace(f"{Path.cwd()}{os.sep}", "")
    text = re.sub(r"(choose one of (?:[\w-]+, ){9})[\w-]+, .*", r"\1…", text)
    return re.sub(r"(whole number from 1 to) \d+", r"\1 the number of cores", text)


def stored() -> dict[str, dict[str, str]]:
    """Key of a case → what was asked and said when the table was made."""
    return {row["key"]: row for row in json.loads(STORED.read_text("utf-8"))}
