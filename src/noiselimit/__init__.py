"""Train classifiers that cannot memorise wrong labels, and find label errors in your data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noiselimit.audit.find import find_label_issues
    from noiselimit.data.catalogue import load_data
    from noiselimit.data.examples import DataSet, Examples, make_examples
    from noiselimit.data.reading import Reading
    from noiselimit.errors import InputError
    from noiselimit.estimator import LimitClassifier
    from noiselimit.information.meter import MemorisationMeter
    from noiselimit.loss import LimitLoss
    from noiselimit.noise import (
        GivenNoise,
        InstanceNoise,
        MatrixNoise,
        PairNoise,
        SymmetricNoise,
        UniformNoise,
    )
    from noiselimit.runs.folder import load_run
    from noiselimit.runs.run import Run
    from noiselimit.runs.selection import choose
    from noiselimit.runs.spec import RunSpec, grid
    from noiselimit.training import train

__version__ = "0.2.0"

__all__ = [
    "DataSet",
    "Examples",
    "GivenNoise",
    "InputError",
    "InstanceNoise",
    "LimitClassifier",
    "LimitLoss",
    "MatrixNoise",
    "MemorisationMeter",
    "PairNoise",
    "Reading",
    "Run",
    "RunSpec",
    "SymmetricNoise",
    "UniformNoise",
    "choose",
    "find_label_issues",
    "grid",
    "load_data",
    "load_run",
    "make_examples",
    "train",
]

_HOMES = {
    "DataSet": "data.examples",
    "Examples": "data.examples",
    "GivenNoise": "noise",
    "InputError": "errors",
    "InstanceNoise": "noise",
    "LimitClassifier": "estimator",
    "LimitLoss": "loss",
    "MatrixNoise": "noise",
    "MemorisationMeter": "information.meter",
    "PairNoise": "noise",
    "Reading": "data.reading",
    "SymmetricNoise": "noise",
    "Run": "runs.run",
    "RunSpec": "runs.spec",
    "UniformNoise": "noise",
    "choose": "runs.selection",
    "find_label_issues": "audit.find",
    "grid": "runs.spec",
    "load_data": "data.catalogue",
    "load_run": "runs.folder",
    "make_examples": "data.examples",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that `import noiselimit` and `--help` stay fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'noiselimit' has no attribute '{name}'")
    value = getattr(import_module(f"noiselimit.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
