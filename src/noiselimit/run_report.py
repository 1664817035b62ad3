"""From runs to the page a person looks at."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from noiselimit.data.examples import DataSet
from noiselimit.noise import noise_to_json
from noiselimit.report import Report, RunLine, Suspect, result_sentence
from noiselimit.runs import Run, choose

SUSPECTS = 40


def summary(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One plain object per run: what was trained, whether validation chose it, and how it did."""
    return [
        {
            "method": run.spec.method,
            "beta": None,
            **run.spec.hyper,
            "seed": run.spec.seed,
            "chosen": chosen,
            "test_accuracy": run.metrics["test_accuracy"],
            "last_test_accuracy": run.metrics["last_test_accuracy"],
            "memorised_wrong_labels": run.metrics["memorised_wrong_labels"],
            "gap_auc": run.metrics["gap_auc"],
            "validation_accuracy": run.metrics["validation_accuracy"],
            "best_epoch": run.metrics["best_epoch"],
            "last_epoch": run.metrics["last_epoch"],
            "status": run.metrics["status"],
            "failure": run.metrics["failure"],
            "folder": run.path.name if run.path else None,
            "spec": run.spec.to_json(),
        }
        for run, chosen in zip(runs, choose(runs), strict=True)
    ]


def make_report(title: str, runs: Sequence[Run], data: DataSet) -> Report:
    """The report of runs on one data set; gaps and suspects are those of the chosen run (its first seed)."""
    flags = choose(runs)
    lines = [_line(run, chosen) for run, chosen in zip(runs, flags, strict=True)]
    wrong_shares = [run.metrics["wrong_labels"] for run in runs if run.metrics["wrong_labels"] is not None]
    wrong_share = fmean(wrong_shares) if wrong_shares and max(wrong_shares) > 0 else None
    judge = next((run for run, chosen in zip(runs, flags, strict=True) if chosen), None)
    right, wrong = (np.empty(0), None) if judge is None else _gaps(judge)
    return Report(
        title=title,
        sentence=result_sentence(lines, wrong_share),
        runs=lines,
        gaps_right=right,
        gaps_wrong=wrong,
        suspects=[] if judge is None else _suspects(judge, data),
        facts=_facts(runs),
        wrong_share=wrong_share,
    )


def _line(run: Run, chosen: bool) -> RunLine:
    metrics = run.metrics
    return RunLine(
        method=run.spec.method,
        hyper=run.spec.hyper,
        seed=run.spec.seed,
        chosen=chosen,
        test_accuracy=metrics["test_accuracy"],
        last_test_accuracy=metrics["last_test_accuracy"],
        memorised_wrong_labels=metrics["memorised_wrong_labels"],
        gap_auc=metrics["gap_auc"],
        best_epoch=metrics["best_epoch"],
        history=run.history,
        note=metrics["failure"] or "",
    )


def _gaps(run: Run) -> tuple[Any, Any]:
    """Gaps of the training examples with right and with wrong labels; all and None when nobody knows."""
    outputs = run.outputs[run.outputs["part"] == "train"]
    gaps = outputs["gap"].to_numpy()
    if outputs["clean_label"].isna().all():
        return gaps, None
    wrong = (outputs["given_label"] != outputs["clean_label"]).to_numpy(dtype=bool)
    return gaps[~wrong], gaps[wrong]


def _suspects(run: Run, data: DataSet) -> list[Suspect]:
    outputs = run.outputs[run.outputs["part"] != "test"]
    worst = outputs.sort_values(["gap", "index"], ascending=[False, True]).head(SUSPECTS)
    names = data.examples.class_names
    shown = _shown(data, worst["index"].to_numpy())
    clean = [None if pd.isna(label) else names[int(label)] for label in worst["clean_label"]]
    columns = (worst[name].tolist() for name in ("index", "given_label", "suggested_label", "gap"))
    return [
        Suspect(index, names[given], names[suggested], gap, clean=right, **appearance)
        for index, given, suggested, gap, right, appearance in zip(*columns, clean, shown, strict=True)
    ]


def _shown(data: DataSet, rows: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """What to show of these inputs: a picture, or the first few values."""
    inputs = data.examples.inputs
    if inputs.ndim == 2:
        return [{"values": ", ".join(f"{value:.4g}" for value in inputs[row][:8])} for row in rows]
    # Whole-number pictures need not use the full range: digits end at 16. One scale for all keeps them alike.
    scale = max(1, inputs.max()) if inputs.dtype == np.uint8 else 1
    return [{"image": inputs[row] / scale} for row in rows]


def _facts(runs: Sequence[Run]) -> dict[str, str]:
    """What was run, in words; every distinct value where runs differ."""

    def distinct(values: Sequence[object]) -> str:
        return ", ".join(dict.fromkeys(str(value) for value in values))

    specs, metrics = [run.spec for run in runs], [run.metrics for run in runs]
    noises = [noise_to_json(spec.noise) for spec in specs]
    return {
        "Data set": distinct([run.data.name for run in runs]),
        "Noise": distinct([noise if isinstance(noise, str) else "matrix" for noise in noises]),
        "Examples": "; ".join(
            dict.fromkeys(
                f"{m['train_examples']} training, {m['validation_examples']} validation, "
                f"{m['test_examples']} test"
                for m in metrics
            )
        ),
        "Network": distinct([spec.network for spec in specs]),
        "Seeds": distinct([spec.seed for spec in specs]),
        "Epochs": distinct([m["last_epoch"] for m in metrics]),
        "Choice": "highest accuracy on noisy validation labels; ties go to the lower validation loss, "
        "then to the earlier epoch",
        "Training time": f"{max(m['cohort_seconds'] for m in metrics):.1f} s",
        "Hardware": distinct([m["device"] for m in metrics]),
        "Versions": distinct([", ".join(f"{k} {v}" for k, v in m["versions"].items()) for m in metrics]),
    }
