"""TensorBoard, W&B, MLflow and CSV files for `train`, by the loggers of Lightning."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noiselimit.errors import InputError, unknown

if TYPE_CHECKING:
    from noiselimit.training import Progress

PACKAGES = {"csv": "lightning", "mlflow": "mlflow", "tensorboard": "tensorboard", "wandb": "wandb"}
"""Name of a logger → the package that it needs besides Lightning."""


class RunLogger:
    """Logs every epoch of every run: `train(specs, data, progress=RunLogger("tensorboard", "logs"))`.

    Each run gets a logger of its own, with the name of its folder and the spec as hyper-parameters.

    Parameters
    ----------
    logger : 'csv', 'tensorboard', 'wandb', 'mlflow', or a function that makes a Lightning logger from a name.
    folder : where the logger writes. MLflow writes mlflow.db there, or to MLFLOW_TRACKING_URI if it is set.
    """

    def __init__(self, logger: str | Callable[[str], Any], folder: str | Path = "logs") -> None:
        if isinstance(logger, str):
            if logger not in PACKAGES:
                raise unknown("logger", logger, PACKAGES)
            for package in ("lightning", PACKAGES[logger]):
                if find_spec(package) is None:
                    raise InputError(f"logger '{logger}' needs {package}: run `pip install {package}`.")
        self._kind, self._folder = logger, Path(folder)
        self._loggers: dict[str, Any] = {}

    def __call__(self, progress: "Progress") -> None:
        spec, record = progress.spec, progress.record
        if record is None:  # finished, or found finished
            if (logger := self._loggers.pop(spec.hash, None)) is not None:
                logger.finalize("success")
            return
        if spec.hash not in self._loggers:
            self._loggers[spec.hash] = self._make(spec.folder_name)
            self._loggers[spec.hash].log_hyperparams(spec.to_json())
        numbers = {name: value for name, value in record.items() if value is not None}
        epoch = numbers.pop("epoch")
        del numbers["step"]  # a logger has one count, which is that of epochs here
        self._loggers[spec.hash].log_metrics(numbers, step=int(epoch))

    def _make(self, name: str) -> Any:
        if callable(self._kind):
            return self._kind(name)
        from lightning.pytorch import loggers

        if self._kind == "csv":
            return loggers.CSVLogger(self._folder, name, version="")
        if self._kind == "tensorboard":
            return loggers.TensorBoardLogger(self._folder, name, version="")
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._kind == "mlflow":
            # A database, because MLflow refuses the files that Lightning's logger would write by default.
            database = f"sqlite:///{self._folder.resolve() / 'mlflow.db'}"
            return loggers.MLFlowLogger(
                "noiselimit", name, tracking_uri=os.environ.get("MLFLOW_TRACKING_URI", database)
            )
        # Runs train side by side, and each is a run of its own.
        return loggers.WandbLogger(name, self._folder, project="noiselimit", reinit="create_new")
