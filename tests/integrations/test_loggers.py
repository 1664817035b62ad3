"""Loggers of Lightning get every epoch of every run, from Python and from the command line."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from noiselimit import InputError, grid, train
from noiselimit.data.examples import DataSet
from noiselimit.integrations.loggers import RunLogger


def test_csv_files_hold_the_histories(blobs: DataSet, tmp_path: Path) -> None:
    specs = grid(method=["ce", "limit-l"], seed=[0, 1], epochs=3)
    for run in train(specs, blobs, progress=RunLogger("csv", tmp_path), threads=2):
        folder = tmp_path / run.spec.folder_name
        logged = pd.read_csv(folder / "metrics.csv")
        assert logged["step"].tolist() == [1, 2, 3]
        for name in ("train_loss", "validation_accuracy"):
            assert logged[name].tolist() == [record[name] for record in run.history]
        assert yaml.safe_load((folder / "hparams.yaml").read_text("utf-8"))["seed"] == run.spec.seed


def test_tensorboard_gets_every_epoch(blobs: DataSet, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (run,) = train(grid(epochs=2), blobs, progress=RunLogger("tensorboard", tmp_path))
    events = EventAccumulator(str(tmp_path / run.spec.folder_name)).Reload()
    logged = {event.step: event.value for event in events.Scalars("train_loss")}
    assert logged == pytest.approx({record["epoch"]: record["train_loss"] for record in run.history})


@pytest.mark.filterwarnings("ignore")  # those of MLflow
def test_mlflow_gets_every_epoch(blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")  # mlflow-skinny has no database
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (run,) = train(grid(epochs=2), blobs, progress=RunLogger("mlflow", tmp_path))
    client = tracking.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    (found,) = client.search_runs([client.get_experiment_by_name("noiselimit").experiment_id])
    assert (found.info.run_name, found.info.status) == (run.spec.folder_name, "FINISHED")
    logged = [metric.value for metric in client.get_metric_history(found.info.run_id, "train_loss")]
    assert logged == [record["train_loss"] for record in run.history]


@pytest.mark.filterwarnings("ignore")  # those of W&B
def test_wandb_gets_a_run_for_each(blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    train(grid(epochs=2, seed=[0, 1]), blobs, progress=RunLogger("wandb", tmp_path))
    assert len(list(tmp_path.glob("wandb/offline-run-*"))) == 2


def test_any_logger_will_do(blobs: DataSet) -> None:
    calls: list[str] = []

    class Own:
        def __init__(self, name: str) -> None:
            calls.append(name)

        def log_hyperparams(self, spec: object) -> None:
            calls.append("spec")

        def log_metrics(self, numbers: object, step: int) -> None:
            calls.append(str(step))

        def finalize(self, status: str) -> None:
            calls.append(status)

    (run,) = train(grid(epochs=2), blobs, progress=RunLogger(Own))
    assert calls == [run.spec.folder_name, "spec", "1", "2", "success"]


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="did you mean 'tensorboard'"):
        RunLogger("tensorbord")
    monkeypatch.setattr("noiselimit.integrations.loggers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install lightning"):
        RunLogger("csv")
