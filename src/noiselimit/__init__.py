"""Train classifiers that cannot memorise wrong labels, and find label errors in your data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noiselimit.audit.find import find_label_issues as find_label_issues
    from noiselimit.audit.folder import open_audit as open_audit
    from noiselimit.data.catalogue import load_data as load_data
    from noiselimit.data.examples import DataSet as DataSet
    from noiselimit.data.examples import Examples as Examples
    from noiselimit.data.examples import make_examples as make_examples
    from noiselimit.data.examples import make_multilabel as make_multilabel
    from noiselimit.data.examples import make_values as make_values
    from noiselimit.data.reading import Reading as Reading
    from noiselimit.errors import InputError as InputError
    from noiselimit.estimator import LimitClassifier as LimitClassifier
    from noiselimit.information.meter import MemorisationMeter as MemorisationMeter
    from noiselimit.loss import LimitLoss as LimitLoss
    from noiselimit.noise import GivenNoise as GivenNoise
    from noiselimit.noise import InstanceNoise as InstanceNoise
    from noiselimit.noise import MatrixNoise as MatrixNoise
    from noiselimit.noise import PairNoise as PairNoise
    from noiselimit.noise import SymmetricNoise as SymmetricNoise
    from noiselimit.noise import UniformNoise as UniformNoise
    from noiselimit.regressor import LimitRegressor as LimitRegressor
    from noiselimit.report.runs import load_runs as load_runs
    from noiselimit.runs.folder import load_run as load_run
    from noiselimit.runs.run import Run as Run
    from noiselimit.runs.run import choose as choose
    from noiselimit.runs.spec import RunSpec as RunSpec
    from noiselimit.runs.spec import grid as grid
    from noiselimit.training import train as train

__version__ = "0.2.0"

_MODULES = {
    "DataSet": "data.examples",
    "Examples": "data.examples",
    "GivenNoise": "noise",
    "InputError": "errors",
    "InstanceNoise": "noise",
    "LimitClassifier": "estimator",
    "LimitLoss": "loss",
    "LimitRegressor": "regressor",
    "MatrixNoise": "noise",
    "MemorisationMeter": "information.meter",
    "PairNoise": "noise",
    "Reading": "data.reading",
    "Run": "runs.run",
    "RunSpec": "runs.spec",
    "SymmetricNoise": "noise",
    "UniformNoise": "noise",
    "choose": "runs.run",
    "find_label_issues": "audit.find",
    "grid": "runs.spec",
    "load_data": "data.catalogue",
    "load_run": "runs.folder",
    "load_runs": "report.runs",
    "make_examples": "data.examples",
    "make_multilabel": "data.examples",
    "make_values": "data.examples",
    "open_audit": "audit.folder",
    "train": "training",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that `import noiselimit` and `--help` stay fast."""
    if name not in _MODULES:
        raise AttributeError(f"module 'noiselimit' has no attribute '{name}'")
    value = getattr(import_module(f"noiselimit.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
