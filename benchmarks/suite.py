"""The detection suite in tables: every tool on every data set and noise, and how the audit compares."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmarks.results import METHODS, RESULTS, TITLES, Content, detection_table, read_results

SUITE = RESULTS / "detection-suite.json"
TUNED = ("vehicle", "segment", "phoneme", "german", "vowel", "magic", "letter", "satimage")
TUNED_ON = {*(f"keel:{name}" for name in TUNED), "digits", "overlapping", "ag_news"}
"""Data on which settings of the audit were chosen. The others led to two late changes only."""
OURS = ("ours-default", "ours-fast")
OWN = (*OURS, "folds-averaged")
MEASURES = ("auroc", "auprc", "f1")
SAME_MODELS = ("folds", "logistic", "forest", "boosting")
"""Trainings of the models that an audit uses on tables, in cleanlab's five folds."""


def cells(content: Content) -> pd.DataFrame:
    """Means over seeds: one line for each data set, noise and method, without unchanged data."""
    table = detection_table(content)
    table = table[table["noise"] != "none"]
    return table.groupby(["data", "noise", "method"], sort=False)[[*MEASURES, "seconds"]].mean()


def by_method(content: Content) -> list[list[str]]:
    """Method, mean AUROC, AUPRC and F1 over all cells in which every method was measured, and seconds."""
    means = cells(content)
    every = means["auroc"].unstack("method").dropna(axis=1, thresh=1)
    shared = every.drop(columns=["f1"], errors="ignore").dropna().index
    rows = []
    for method in METHODS:
        if method in every:
            own: Any = means.xs(method, level="method").loc[shared].mean()
            figures = [f"{own[name]:.3f}" if pd.notna(own[name]) else "–" for name in MEASURES]
            rows.append([TITLES[method], *figures, f"{own['seconds']:.1f}"])
    best = [max(row[place] for row in rows if row[place] != "–") for place in (1, 2, 3)]
    for row in rows:
        row[1:4] = [f"**{text}**" if text == top else text for text, top in zip(row[1:4], best, strict=True)]
    return rows


def by_noise(content: Content) -> list[list[str]]:
    """Data and noise, then for every measure the audit and the best other tool in that cell."""
    means = cells(content)
    rows = []
    for (data, noise), own in means.groupby(level=["data", "noise"], sort=False):
        figures = own.droplevel(["data", "noise"])
        row = [f"{str(data).removeprefix('keel:')}{'' if data in TUNED_ON else ' †'}, {noise}"]
        for measure in MEASURES:
            ours, best = (
                figures[measure]["ours-default"],
                figures[measure].drop(list(OWN), errors="ignore").max(),
            )
            row += [f"**{ours:.3f}**" if ours >= best else f"{ours:.3f}", f"{best:.3f}"]
        rows.append(row)
    return rows


def facts(content: Content, method: str = "ours-default") -> Iterator[tuple[str, str, str]]:
    """What was asked of the audit, on all data and on those that settings were not chosen on."""
    parts = [_facts(content, method, held_out=held_out) for held_out in (False, True)]
    for name in parts[0]:
        yield name, parts[0][name], parts[1][name]


def _facts(content: Content, method: str, *, held_out: bool) -> dict[str, str]:
    rows = [row for row in content["rows"] if not held_out or row["problem"]["data"] not in TUNED_ON]
    means = cells({**content, "rows": rows})
    found: dict[str, str] = {"data sets × noises": str(means.groupby(level=["data", "noise"]).ngroups)}
    for measure, name in zip(MEASURES, ("AUROC", "AUPRC", "F1"), strict=True):
        wide = means[measure].unstack("method")
        ahead = wide[method] - wide.drop(columns=list(OWN), errors="ignore").max(axis=1)
        found[f"{name}: best tool of the cell, or better"] = f"{(ahead >= 0).mean():.0%}"
        found[f"{name}: at most .01 behind the best tool"] = f"{(ahead >= -0.01).mean():.0%}"
        worst: Any = ahead.idxmin()
        found[f"{name}: furthest behind"] = f"{min(ahead.min(), 0.0):.3f} ({', '.join(worst)})"
    noisy = [_judged(row, method) for row in rows if 0.05 <= row["wrong"] <= 0.5]
    clean = [row["methods"][method] for row in rows if row["problem"]["noise"] == "none"]
    every = [_judged(row, method) for row in rows]
    found["estimate within 10 % of the number of wrong labels"] = (
        f"{pd.Series([x['near'] for x in noisy]).mean():.0%}"
    )
    found["range holds the number of wrong labels"] = f"{pd.Series([x['covered'] for x in every]).mean():.0%}"
    found["expected calibration error, mean"] = f"{pd.Series([x['calibration'] for x in every]).mean():.3f}"
    flagged = pd.Series([each["flagged"] for each in clean], dtype=float)
    found["flagged without added noise, mean; most"] = f"{flagged.mean():.1%}; {flagged.max():.1%}"
    seconds = [
        sum(row["trainings"][name]["cpu_seconds"] for name in SAME_MODELS if name in row["trainings"])
        for row in rows
    ]
    own = [row["trainings"][method.removeprefix("ours-")]["cpu_seconds"] for row in rows]
    found["time, compared with five folds of the same models"] = f"{sum(own) / sum(seconds):.2f}"
    return found


def _judged(row: dict[str, Any], method: str) -> dict[str, float]:
    figures, wrong = row["methods"][method], row["wrong"]
    low, high = figures["interval"] or (0.0, 1.0)
    share = figures["noise_rate"]
    return {
        "near": share is not None and abs(share - wrong) <= 0.1 * wrong,
        "covered": low <= wrong <= high,
        "calibration": figures["calibration_error"],
    }


def main() -> None:
    """Print the suite's tables."""
    content = read_results(SUITE)
    for row in by_method(content):
        print("  ".join(row))
    for row in by_noise(content):
        print("  ".join(row))
    for fact in facts(content):
        print("  ".join(fact))


if __name__ == "__main__":
    main()
