"""Describe runs: as JSON, as rows of a table, and as the contents of a report."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.arrays import highest_value
from noiselimit.data.columns import Text
from noiselimit.data.examples import DataSet
from noiselimit.data.tables import kept_as
from noiselimit.engine.preparation import usual_parent_rate
from noiselimit.errors import InputError
from noiselimit.noise import noise_to_json
from noiselimit.report.content import LONG_CELL, Report, RunLine, Suspect, result_sentence, shorten
from noiselimit.runs.folder import find_run_folders, load_run
from noiselimit.runs.run import Run, choose
from noiselimit.runs.spec import RunSpec, problem

SUSPECTS = 40
COLUMNS_SHOWN, LONGEST_CELL, LONGEST_TEXT = 8, LONG_CELL, 400
NOT_SETTINGS = frozenset({"schema", "method", "hyper", "seed", "parent"})
"""Fields of a spec that have a column of their own, or follow from others."""
NOT_CELLS = frozenset({"transition", "versions"})
"""Metrics that are no single values."""


def summary(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One JSON object per run: what was trained, whether it was chosen, and its results."""
    metrics = (
        "test_accuracy last_test_accuracy memorised_wrong_labels gap_auc validation_accuracy best_epoch "
        "last_epoch status failure"
    )
    return [
        {
            "method": run.spec.method,
            "beta": None,
            **run.spec.hyper,
            "seed": run.spec.seed,
            "chosen": chosen,
            **{name: run.metrics[name] for name in metrics.split()},
            "folder": run.path.name if run.path else None,
            "spec": run.spec.to_json(),
        }
        for run, chosen in zip(runs, choose(runs), strict=True)
    ]


def load_runs(folder: str | Path) -> pd.DataFrame:
    """Load a folder of runs as a table.

    Parameters
    ----------
    folder : path
        A folder of runs, that of one run, or that of an audit.

    Returns
    -------
    DataFrame
        One row per run: `method`, hyper-parameters, `seed` and all other settings as in `RunSpec`; `data`,
        the name of the data; `chosen`, whether validation chose the setting; the metrics; `folder`. Values
        that do not apply or are unknown are missing.

    Examples
    --------
    Mean and standard deviation over the seeds:

    >>> runs = load_runs("runs")
    >>> settings = runs.groupby(["method", "beta"], dropna=False)
    >>> accuracy = settings["test_accuracy"].agg(["mean", "std", "count"])
    """
    runs = [load_run(place) for place in find_run_folders(Path(folder))]
    hyper = dict.fromkeys(name for run in runs for name in run.spec.hyper)
    return pd.DataFrame(
        {
            "method": run.spec.method,
            **{name: run.spec.hyper.get(name, np.nan) for name in hyper},
            "seed": run.spec.seed,
            **{name: _as_cell(value) for name, value in describe(run).items() if name not in NOT_SETTINGS},
            "chosen": chosen,
            **{name: _as_cell(value) for name, value in run.metrics.items() if name not in NOT_CELLS},
            "folder": str(run.path),
        }
        for run, chosen in zip(runs, choose(runs), strict=True)
    )


def _as_cell(value: Any) -> Any:
    """A value that a table can group by and average: a noise becomes text, None becomes NaN."""
    if not isinstance(value, dict):
        return np.nan if value is None else value
    return readable(value) if all(isinstance(each, str) for each in value.values()) else json.dumps(value)


def make_report(title: str, runs: Sequence[Run], data: DataSet) -> Report:
    """The report of runs on one data set; gaps and suspects are those of the first chosen run."""
    flags = choose(runs)
    lines = run_lines(runs, flags)
    problems: dict[str, list[int]] = {}
    for position, run in enumerate(runs):
        problems.setdefault(problem(run.spec).key, []).append(position)
    shares = {key: _wrong_share([runs[i] for i in places]) for key, places in problems.items()}
    clean_test = all(run.metrics["wrong_labels"] is not None for run in runs)
    sentences = [
        result_sentence([lines[i] for i in places], shares[key], clean_test=clean_test)
        for key, places in problems.items()
    ]
    best = next((run for run, chosen in zip(runs, flags, strict=True) if chosen), None)
    return Report(
        title=title,
        sentence=" ".join(sentences),
        runs=lines,
        scores={} if best is None else _gaps(best),
        suspects=[] if best is None else _suspects(best, data),
        facts=run_facts(runs),
        clean_test=clean_test,
        wrong_share=next(iter(shares.values())) if len(shares) == 1 else None,
    )


def describe(run: Run) -> dict[str, Any]:
    """The run's spec, with the name of the data instead of their fingerprint."""
    described = {**run.spec.to_json(), "data": run.data.name}
    if run.spec.parent_learning_rate == usual_parent_rate(run.spec):
        described["parent_learning_rate"] = None  # the default
    return described


def validation_kind(runs: Sequence[Run]) -> str:
    """Which validation labels selected among these runs: noisy, clean, or both."""
    kinds = {"noisy" if run.spec.validation_labels == "given" else "clean" for run in runs}
    return " or ".join(sorted(kinds, reverse=True))


def readable(value: Any) -> str:
    """A value of a spec or of the metrics as text."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict) and len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return f"{next(iter(value))}:{text}"  # as typed: given:worst
    if isinstance(value, dict):
        return ", ".join(f"{key} {readable(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, list):
        return f"{len(value)} × {len(value)}"  # the transition matrix of a noise
    return str(value)


def run_lines(runs: Sequence[Run], chosen: Sequence[bool]) -> list[RunLine]:
    """The runs as a table shows them, each with the settings in which they differ."""
    described = [describe(run) for run in runs]
    settings: list[dict[str, str]] = [{} for _ in runs]
    for name in RunSpec.__dataclass_fields__:
        if name not in NOT_SETTINGS and any(values[name] != described[0][name] for values in described):
            for own, values in zip(settings, described, strict=True):
                own[name] = readable(values[name])
    return [RunLine(*line) for line in zip(runs, chosen, settings, strict=True)]


def _wrong_share(runs: Sequence[Run]) -> float | None:
    """Mean share of wrong training labels; None if it is unknown or zero."""
    shares = [run.metrics["wrong_labels"] for run in runs if run.metrics["wrong_labels"]]
    return fmean(shares) if shares else None


def _gaps(run: Run) -> dict[str, npt.NDArray[np.floating]]:
    """Gaps of training examples with right and with wrong labels, or of all examples if that is unknown."""
    outputs = run.outputs[(run.outputs["part"] == "train") & np.isfinite(run.outputs["gap"])]
    gaps = outputs["gap"].to_numpy()
    if outputs["clean_label"].isna().all():
        return {"examples": gaps}
    wrong = (outputs["given_label"] != outputs["clean_label"]).to_numpy(dtype=bool)
    return {"right labels": gaps[~wrong], "wrong labels": gaps[wrong]}


def _suspects(run: Run, data: DataSet) -> list[Suspect]:
    outputs = run.outputs[run.outputs["part"] != "test"]
    worst = outputs.sort_values(["gap", "index"], ascending=[False, True]).head(SUSPECTS)
    if worst["index"].max() >= len(data.examples):
        raise InputError(f"{run.path} does not belong to these data: delete the folder and train again.")
    return make_suspects(worst, data)


def make_suspects(worst: pd.DataFrame, data: DataSet) -> list[Suspect]:
    """One per row of a table with the columns index, given_label, suggested_label, gap and clean_label.

    The columns error, pair and why may be there, too.
    """
    names, files = data.examples.class_names, data.examples.names
    clean = [None if pd.isna(label) else names[int(label)] for label in worst["clean_label"]]
    columns = (worst[name].tolist() for name in ("index", "given_label", "suggested_label", "gap"))
    looks = show_inputs(data, worst["index"].to_numpy())
    more = worst[[name for name in ("error", "pair", "why") if name in worst]].to_dict("records")
    return [
        Suspect(
            index,
            names[given],
            names[suggested],
            gap,
            clean=right,
            name=None if files is None else files[index],
            **look,
            **own,
        )
        for index, given, suggested, gap, right, look, own in zip(*columns, clean, looks, more, strict=True)
    ]


def show_inputs(data: DataSet, rows: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """What to show of these inputs: an image, or the first columns."""
    inputs = data.shown
    if inputs.ndim == 2:
        return [{"columns": _first_columns(data, row)} for row in rows]
    # Integer images need not use the full range: digits end at 16. All images share one scale.
    scale = max(1.0, highest_value(inputs)) if inputs.dtype == np.uint8 else 1
    # Opacity is left out; of channels that are no colours, only the first is shown.
    colours = {1: 1, 3: 3, 4: 3}.get(inputs.shape[1], 1)
    return [{"image": inputs[row][:colours] / scale} for row in rows]


def _first_columns(data: DataSet, row: int) -> list[tuple[str, str]]:
    """Name and value of the first columns of a row, then the number of further columns."""
    cells = list(islice(_cells(data, row), COLUMNS_SHOWN))
    more = (data.examples.inputs.shape[1] if data.table is None else len(data.table.columns)) - len(cells)
    shown = [(shorten(name, LONGEST_CELL), value) for name, value in cells]
    return [*shown, ("…", f"{more} more")] if more else shown


def _cells(data: DataSet, row: int) -> Iterator[tuple[str, str]]:
    """Name and value of each column."""
    values = data.examples.inputs[row]
    if data.table is None:
        yield from ((f"value {place}", f"{value:.5g}") for place, value in enumerate(values))
        return
    start = 0
    for column in data.table.columns:
        end = start + column.width
        own = data.examples.kept.get(kept_as(column) or "")
        shown = column.show(values[start:end]) if own is None else str(own[row])
        yield column.name, shorten(shown, LONGEST_TEXT if isinstance(column, Text) else LONGEST_CELL)
        start = end


def run_facts(runs: Sequence[Run]) -> dict[str, str]:
    """What was run, in words; all distinct values if runs differ."""

    def distinct(values: Sequence[object], separator: str = ", ") -> str:
        return separator.join(dict.fromkeys(map(str, values)))

    specs, metrics = [run.spec for run in runs], [run.metrics for run in runs]
    sizes = [
        f"{m['train_examples']} training, {m['validation_examples']} validation, {m['test_examples']} test"
        for m in metrics
    ]
    return {
        "Data set": distinct([run.data.name for run in runs]),
        "Noise": distinct([readable(noise_to_json(spec.noise)) for spec in specs]),
        "Examples": distinct(sizes, "; "),
        "Network": distinct([spec.network for spec in specs]),
        "Seeds": distinct([spec.seed for spec in specs]),
        "Epochs": distinct([m["last_epoch"] for m in metrics]),
        "Choice": f"highest accuracy on {validation_kind(runs)} validation labels; ties go to the lower "
        "validation loss, then to the earlier epoch",
        **_information_facts(runs),
        "Training time": f"{max(m['cohort_seconds'] for m in metrics):.1f} s",
        "Hardware": distinct([m["device"] for m in metrics]),
        "Versions": distinct([", ".join(f"{k} {v}" for k, v in m["versions"].items()) for m in metrics]),
    }


def _information_facts(runs: Sequence[Run]) -> dict[str, str]:
    """The entropy of the noise, and the capacity of sampled gradients."""
    sources = {
        "noise": "from the noise that was added",
        "predictor": "estimated from the predictor's uncertainty at the last epoch",
    }
    entropies, capacities = [], []
    for run in runs:
        entropy, capacity = run.metrics.get("noise_entropy"), run.metrics.get("capacity_bits")
        if entropy is not None:
            source = sources[run.metrics["noise_entropy_source"]]
            entropies.append(f"{entropy:.2f} bits per label, {source}")
        if capacity is not None:
            name = f"{run.spec.method}, σ {run.spec.hyper['sigma']:g}, seed {run.spec.seed}"
            vacuous = ", vacuous" if capacity >= (entropy or 0) else ""
            capacities.append(f"{name}: {capacity:.3g} bits per label{vacuous}")
    facts = {
        "Entropy of the noise": dict.fromkeys(entropies),
        "Capacity of the sampled gradients": capacities,
    }
    return {name: "; ".join(texts) for name, texts in facts.items() if texts}
