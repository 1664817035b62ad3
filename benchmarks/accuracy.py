"""Accuracy of the fast path of a GPU against plain float32 training, and of all methods on one problem."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from benchmarks.results import RESULTS, DataDir, Device, environment
from noiselimit.data.catalogue import load_data
from noiselimit.engine.backend import find_device
from noiselimit.files import write_json
from noiselimit.runs.spec import grid
from noiselimit.training import train

PATHS = {
    "plain": {"precision": "float32", "kernels": "off", "graphs": "off"},
    "fast": {"precision": "bfloat16", "kernels": "auto", "graphs": "auto"},
    "fast, float32": {"precision": "float32", "kernels": "auto", "graphs": "auto"},
}


def precision(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = RESULTS
    / "precision.json",
    data: Annotated[str, typer.Option(metavar="NAME", help="Name of the data set.")] = "mnist",
    data_dir: DataDir = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="Number of seeds.", min=2)] = 12,
    epochs: Annotated[int, typer.Option(metavar="N", help="Epochs of each run.", min=1)] = 30,
    device: Device = "auto",
) -> None:
    """Compare the fast path of a GPU with plain float32.

    80 % of the labels are wrong.
    """
    where, examples, rows = find_device(device), load_data(data, data_dir), []
    settings: list[dict[str, Any]] = [
        {"method": "ce"},
        {"method": "limit-g", "beta": 100},
        {"method": "limit-l", "beta": 10},
    ]
    common = {"noise": "uniform:0.8", "seed": list(range(seeds)), "epochs": epochs}
    for path, way in PATHS.items():
        for setting in settings:
            specs = grid(**setting, **common, precision=way["precision"])
            runs = train(specs, examples, device=where, kernels=way["kernels"], graphs=way["graphs"])
            found = {name: [run.metrics[name] for run in runs] for name in ("test_accuracy", "gap_auc")}
            facts = {"method": setting["method"], "beta": setting.get("beta"), "path": path}
            rows.append({**facts, "precision": way["precision"], "seeds": common["seed"], **found})
    facts = {"epochs": epochs, "noise": "uniform:0.8", "data": data, "quick": False}
    write_json(out, {**environment(where), **facts, "rows": rows})


def methods(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = RESULTS / "methods.json",
    data_dir: DataDir = None,
    device: Device = "auto",
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="Train on a cluster: ray or slurm.")
    ] = None,
) -> None:
    """Train every method on MNIST with noise.

    Half of the labels are wrong; the settings are those in results/methods.json.
    """
    content = json.loads((RESULTS / "methods.json").read_text("utf-8"))
    settings = {run["method"]: run["setting"] for run in content["runs"]}
    specs = [
        spec
        for method, setting in settings.items()
        for spec in grid(method=method, seed=content["seeds"], **setting, **content["problem"])
    ]
    with TemporaryDirectory(dir=out.parent) as folder:  # which a cluster must see
        place = None if engine is None else folder
        runs = train(specs, load_data("mnist", data_dir), device=device, engine=engine, out=place)
    rows = [
        {
            "method": run.spec.method,
            "setting": settings[run.spec.method],
            "seed": run.spec.seed,
            **{name: run.metrics[name] for name in ("test_accuracy", "last_test_accuracy", "gap_auc")},
        }
        for run in runs
    ]
    problem = {name: content[name] for name in ("problem", "seeds", "epochs")}
    write_json(out, {**environment(find_device(device)), **problem, "runs": rows})
