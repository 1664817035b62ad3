"""Draws the figures and fills in the tables of docs/benchmarks from the files in results/.

A table is between <!-- NAME --> and <!-- /NAME --> in a page. Sentences are written by people.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy.stats import kendalltau

from benchmarks import regression, suite
from benchmarks.results import RESULTS, ROOT, detection_table, read_results
from noiselimit.files import make_folder
from noiselimit.report.charts import Line, line_chart
from paper.drawing import draw_fano
from paper.figures import FIGURES, draw
from paper.protocol import SHORT, Cell
from paper.tables import NAMES, PAPER, all_results, least_agreeing

DOCS = ROOT / "docs"
HEAD = {
    "MNIST, 50 %": ("mnist", "uniform:0.5/48000"),
    "MNIST, 80 %": ("mnist", "uniform:0.8/48000"),
    "CIFAR-10, 40 %": ("cifar10", "uniform:0.4/40000"),
    "CIFAR-10, 40 % pair": ("cifar10", "pair:0.4/40000"),
}
METHODS = ("ce", "mae", "fw", "dmi", "limit-g", "limit-l", "limit-g+init", "limit-l+init")
PRINTED = {(cell.data, cell.problem, cell.method): value for cell, value in PAPER.items()}
"""PAPER by data, problem and method."""
LOGISTIC = "cleanlab-self-confidence-logistic"
TEXT_FEATURES = ("wordllama", "tf-idf", "all-MiniLM-L6-v2")
WORK = {
    "mnist-cohort": "MNIST CNN, LIMIT-L, cohort",
    "mnist-one": "MNIST CNN, LIMIT-L, one run",
    "cifar-limit": "CIFAR-10, two ResNet-34, LIMIT-L, one run",
    "cifar-ce": "CIFAR-10, ResNet-34, CE, one run",
}
STEPS = ("float32, torch's kernels, no CUDA graphs", "+ bfloat16", "+ CUDA graphs", "+ our kernels")


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table whose columns after the first are aligned right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def read(name: str) -> dict[str, Any]:
    """A JSON file in results/."""
    return dict(json.loads((RESULTS / name).read_text("utf-8")))


def spread(values: Sequence[float], digits: int, scale: float = 1.0) -> str:
    """Mean ± standard deviation."""
    return f"{scale * fmean(values):.{digits}f} ± {scale * stdev(values):.{digits}f}"


@cache
def paper_cells(kind: str = "full") -> dict[tuple[str, str, str], dict[str, Any]]:
    """Our result for each cell of the paper that was run, by data, problem and method."""
    found = all_results(RESULTS / "reproduce", kind)
    return {(each["data"], each["problem"], each["method"]): each for each in found}


def save_cells() -> None:
    """Write one line per cell to results/reproduce/cells.csv."""
    cells = pd.DataFrame(list(paper_cells().values()))
    lines = cells.assign(seeds=cells["seeds"].map(len), epochs_run=cells["epochs_run"].map(max))
    lines.to_csv(RESULTS / "reproduce" / "cells.csv", index=False, float_format="%.6g")


def head_table() -> str:
    """All methods on the four main problems, ours above the paper's."""
    cells, rows = paper_cells(), []
    for method in METHODS:
        row = [NAMES[method]]
        for data, problem in HEAD.values():
            key = data, problem, method
            paper = "" if key not in PRINTED else f"{PRINTED[key][0]:.1f} ± {PRINTED[key][1]:.1f}"
            ours = "not run" if paper else ""
            if one := cells.get(key):
                mark = "†" if one["std_by"] == "bootstrap" else ""
                ours = f"**{one['accuracy']:.1f}** ± {one['std']:.1f}{mark}"
            row.append(f"{ours}<br>{paper}" if paper else "")
        rows.append(row)
    return markdown(["method", *HEAD], rows)


def short_table() -> str:
    """Test accuracy by the short protocols, the full one and the paper; nothing if there is no short one."""
    full = paper_cells()
    columns: dict[tuple[str, str, str], dict[str, float]] = {}
    for kind in SHORT:
        for (data, problem, method), one in paper_cells(kind).items():
            if problem != "pair:0/40000":  # the runs of uniform:0
                columns.setdefault((kind, data, problem), {})[method] = one["accuracy"]
    rows = [[NAMES[method]] for method in METHODS] + [["Kendall's τ, methods"]]
    for (_, data, problem), short in columns.items():
        for row, method in zip(rows, METHODS, strict=False):
            key = data, problem, method
            ours = f"{full[key]['accuracy']:.1f}" if key in full else "–"
            own = f"**{short[method]:.1f}**" if method in short else "–"
            row.append(f"{own}<br>{ours}<br>{PRINTED[key][0]:.1f}")
        rank = kendalltau(list(short.values()), [PRINTED[data, problem, method][0] for method in short])
        rows[-1].append(f"{rank.statistic:.2f}, {len(short)}" if len(short) > 1 else "–")
    names = [f"{data}, {problem.partition('/')[0]}, {kind}" for kind, data, problem in columns]
    return markdown(["**short**, full, paper", *names], rows) if columns else ""


def mnist_table() -> str:
    """Accuracy and difference from the paper's of all 132 cells."""
    cells, rows = paper_cells(), []
    problems = list(dict.fromkeys(problem for data, problem, _ in cells if data == "mnist"))
    for method, name in NAMES.items():
        row = [name]
        for problem in problems:
            if one := cells.get(("mnist", problem, method)):
                marks = ("†" if one["std_by"] == "bootstrap" else "") + ("" if one["meets"] else "↓")
                difference = round(one["difference"], 1) + 0.0  # no −0.0
                row.append(f"{one['accuracy']:.1f}{marks}<br>{difference:+.1f}".replace("-", "−"))
        rows += [row] if len(row) > 1 else []
    names = [problem.removeprefix("uniform:").removesuffix("000").replace("/", ", ") for problem in problems]
    return markdown(["p, n", *(f"{name}k" for name in names)], rows)


def batches_table() -> str:
    """Test accuracy by batch size, beside the paper's."""
    content, rows = read("causes.json"), []
    runs = pd.DataFrame(content["batches"]["runs"] + content["controls"]["runs"])
    for _, own in runs.groupby(["method", "noise", "n"], sort=False):
        method, noise, n = own[["method", "noise", "n"]].iloc[0]
        cell = Cell("mnist", "uniform", float(noise.split(":")[1]), int(n), method)
        row = [f"{NAMES[method]}, {cell.p}, {n // 1000}k"]
        for _, sized in own.groupby("batch_size"):
            chosen = sized.groupby("value")["validation_accuracy"].mean().idxmax()
            accuracies = sized.loc[sized["value"] == chosen, "test_accuracy"].tolist()
            mark = "↓" if 100 * fmean(accuracies) < least_agreeing(cell, len(accuracies)) else ""
            row.append(f"{spread(accuracies, 1, 100)}{mark}")
        accuracy, deviation = PAPER[cell]
        rows.append([*row, f"{accuracy:.1f} ± {deviation:.1f}"])
    return markdown(["method, p, n", "64", "128", "256", "paper"], rows)


def changes_table() -> str:
    """LIMIT-L − S with p = 0.89 and n = 48,000, one thing changed; means over β and three seeds."""
    names, rows = {"patience": "no early stopping", "schedule": "cosine learning rate"}, []
    for part, name in names.items():
        runs = pd.DataFrame(read("causes.json")[part]["runs"])
        means = runs.groupby("value")[["validation_accuracy", "test_accuracy"]].mean()
        chosen = means.sort_values("validation_accuracy")["test_accuracy"].iloc[-1]
        cells = [runs["test_accuracy"].mean(), chosen, means["test_accuracy"].max()]
        rows.append([name, *(f"{100 * value:.1f}" for value in cells)])
    return markdown(["change", "mean over β", "β chosen by validation", "best β"], rows)


def speed_rows_table() -> str:
    """Seconds per run and epoch on an H200."""
    rows = []
    for row in read("bench-h200.json")["rows"]:
        if row["row"] in WORK:
            author = "–" if row["author"] is None else f"{row['author']} s"
            faster = "–" if row["author"] is None else f"{row['author'] / row['seconds']:.3g} ×"
            shares = [f"{100 * row[name]:.0f} %" for name in ("share_of_tflop", "share_of_gb")]
            measured = [f"{row['aim']} s", f"**{row['seconds']:.3g} s**"]
            rows.append([WORK[row["row"]], row["k"], f"{row['n']:,}", author, *measured, faster, *shares])
    header = "work,K,n,author's code,target,measured,faster,of arithmetic,of memory"
    return markdown(header.split(","), rows)


def steps_table() -> str:
    """What each part of the fast path brings."""
    rows, before = [], dict.fromkeys(WORK, 0.0)
    for number, name in enumerate(STEPS, 1):
        seconds = {row["row"]: row["seconds"] for row in read(f"bench-steps-{number}.json")["rows"]}
        gains = [f" ({before[work] / seconds[work]:.2g} ×)" if before[work] else "" for work in WORK]
        rows.append([name, *(f"{seconds[work]:.3g} s{gain}" for work, gain in zip(WORK, gains, strict=True))])
        before = seconds
    return markdown(["", *WORK.values()], rows)


def precision_table() -> str:
    """Results of the fast path less those of the plain one, seed by seed."""
    runs = {(row["path"], row["method"]): row for row in read("precision.json")["rows"]}
    rows = []
    for (path, method), row in runs.items():
        cells = []
        for name, scale, digits in (("test_accuracy", 100, 2), ("gap_auc", 1, 4)):
            values, plain = (np.array(each[name]) for each in (row, runs["plain", method]))
            paired = scale * (values - plain)
            error = paired.std(ddof=1) / len(paired) ** 0.5
            difference = f"{paired.mean():+.{digits}f} ± {error:.{digits}f}".replace("-", "−")
            cells += [spread(values.tolist(), digits, scale), "" if path == "plain" else difference]
        rows.append([f"{path}, {method}", *cells])
    return markdown(["path and method", "test accuracy, %", "− plain", "gap AUC", "− plain"], rows)


def seeds_table() -> str:
    """How many seeds every cell has, and where they were measured."""
    content = read_results(suite.SUITE)
    seeds = pd.DataFrame([row["problem"] for row in content["rows"]]).groupby(["data", "noise"]).size()
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    counts = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
    return f"Seeds for each cell: {counts}. One thread of {content['device']}; {versions}."


def facts_table() -> str:
    """What the audit achieved."""
    return markdown(["", "all data", "data with †"], suite.facts(read_results(suite.SUITE)))


def tools_table() -> str:
    """Means of every tool."""
    return markdown(["tool", "AUROC", "AUPRC", "F1", "seconds"], suite.by_method(read_results(suite.SUITE)))


def cells_table() -> str:
    """The audit and the best other tool in every cell."""
    header = "data and noise,AUROC: audit,best tool,AUPRC: audit,best tool,F1: audit,best tool"
    return markdown(header.split(","), suite.by_noise(read_results(suite.SUITE)))


def text_table() -> str:
    """The audit and cleanlab on features of text; the better one is bold."""
    rows = []
    for features in TEXT_FEATURES:
        table = detection_table(read_results(RESULTS / f"detection-text-{features}.json"))
        for (data, noise), own in table.groupby(["data", "noise"], sort=False):
            row = [f"{data}, {noise}", features]
            means = own.groupby("method")[["auroc", "auprc", "f1"]].mean()
            for measure, values in means.loc[["ours-default", LOGISTIC]].items():
                digits = 4 if measure == "auroc" else 3
                texts = [f"{value:.{digits}f}" for value in values]
                best = max(texts)
                row += [f"**{text}**" if text == best else text for text in texts]
            rows.append(row)
    header = "data and noise,features,AUROC: audit,cleanlab,AUPRC: audit,cleanlab,F1: audit,cleanlab"
    return markdown(header.split(","), rows)


def scale_table() -> str:
    """Time and memory of large audits."""
    rows = [
        [
            f"{row['rows']:,} rows of a messy table, {row['cities']:,} cities"
            if row["part"] == "messy"
            else f"{row['rows']:,} × {row['features']} numbers, {row['classes']:,} classes",
            f"{row['processor_seconds']:,.0f} s",
            f"{row['peak_memory_mib'] / 1024:.1f} GiB",
            f"{row['auroc']:.4f}",
            f"{100 * row['wrong']:.1f} %",
            f"{100 * row['flagged']:.1f} %",
        ]
        for row in read("audit-scale.json")["rows"]
        if row["part"] not in ("images", "probabilities")
    ]
    return markdown(["data", "processor time", "peak memory", "AUROC", "wrong", "flagged"], rows)


def images_table() -> str:
    """Time and memory of embedding images."""
    rows = [
        [f"{row['images']:,}", f"{row['processor_seconds']:,.0f} s", f"{row['peak_memory_mib']:,.0f} MiB"]
        for row in read("audit-scale.json")["rows"]
        if row["part"] == "images"
    ]
    return markdown(["images", "processor time", "peak memory"], rows)


def probabilities_table() -> str:
    """Time and memory of finding wrong labels from probabilities."""
    rows = [
        [
            f"{row['rows']:,} × {row['classes']}",
            f"{row['processor_seconds']:,.0f} s",
            f"{row['peak_memory_mib'] / 1024:.2f} GiB",
            f"{row['table_mib'] / 1024:.2f} GiB",
        ]
        for row in read("audit-scale.json")["rows"]
        if row["part"] == "probabilities"
    ]
    return markdown(["probabilities", "processor time", "peak memory", "table"], rows)


def review_times_table() -> str:
    """Milliseconds that a reviewer waits."""
    rows = [
        [row["part"], f"{1000 * row['median_seconds']:.0f} ms", f"{1000 * row['p95_seconds']:.0f} ms"]
        for row in read("review.json")["rows"]
        if row["part"] in ("first page", "decision")
    ]
    return markdown(["", "median", "95 % within"], rows)


def review_coverage_table() -> str:
    """How often the estimates of a review hold the truth."""
    rows = [
        [
            row["data"].replace("_", " "),
            row["reviews"],
            f"{100 * row['remaining_covered']:.0f} %",
            f"{100 * row['precision_covered']:.0f} %",
            f"{row['median_left']:.0f}",
            f"{row['median_error']:.0f}",
            f"{row['median_width']:.0f}",
        ]
        for row in read("review.json")["rows"]
        if row["part"] == "coverage"
    ]
    header = [
        "data",
        "reviews",
        "wrong labels left",
        "share of flagged ones",
        "left, median",
        "error",
        "width",
    ]
    return markdown(header, rows)


TABLES: dict[str, Callable[[], str]] = {
    "paper-head": head_table,
    "paper-short": short_table,
    "paper-mnist": mnist_table,
    "paper-batches": batches_table,
    "paper-changes": changes_table,
    "speed": speed_rows_table,
    "speed-steps": steps_table,
    "speed-precision": precision_table,
    "detection-seeds": seeds_table,
    "detection-facts": facts_table,
    "detection-tools": tools_table,
    "detection-cells": cells_table,
    "detection-text": text_table,
    "detection-scale": scale_table,
    "detection-images": images_table,
    "detection-probabilities": probabilities_table,
    "regression-error": regression.error_table,
    "regression-detection": regression.detection_table,
    "review-times": review_times_table,
    "review-coverage": review_coverage_table,
}


def draw_speed(x: str, y: str, sweep: str, scale: float, title: str, x_label: str, y_label: str) -> str:
    """A chart of a sweep of bench-h200.json, both axes logarithmic."""
    points = pd.DataFrame(read("bench-h200.json")["points"]).query("sweep == @sweep")
    lines = [
        Line(f"K = {k}" if sweep == "n" else "", list(zip(own[x], own[y] * scale, strict=True)), "chosen")
        for k, own in (points.groupby("k") if sweep == "n" else [(0, points)])
    ]
    values = points[y] * scale
    return line_chart(
        lines,
        title=title,
        x_label=x_label,
        y_label=y_label,
        y_span=(10 ** np.floor(np.log10(values.min())), 10 ** np.ceil(np.log10(values.max()))),
        y_format=lambda value: f"{value:g}",
        x_ticks=sorted(set(points[x]) - {32_000}),  # too close to the next one
        log=True,
        standalone=True,
    )


def figures() -> dict[Path, str]:
    """Path → SVG, apart from the paper's own figures."""
    seconds, place = "seconds per run and epoch", DOCS / "benchmarks"
    k, n = f"{seconds}, by cohort size", f"{seconds}, by training examples"
    return {
        DOCS / "fano.svg": draw_fano(pd.DataFrame()),
        place / "speed-k.svg": draw_speed("k", "seconds", "k", 1, k, "K: runs in the cohort", seconds),
        place / "speed-n.svg": draw_speed("n", "seconds", "n", 1, n, "training examples", seconds),
        place / "speed-memory.svg": draw_speed(
            "k", "peak_memory", "k", 2.0**-30, "peak memory by cohort size", "K: runs in the cohort", "GiB"
        ),
    }


def filled(page: str) -> str:
    """The page with its tables as they follow from results/."""

    def table(found: re.Match[str]) -> str:
        return f"<!-- {found[1]} -->\n{TABLES[found[1]]()}\n<!-- /{found[1]} -->"

    return re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", table, page, flags=re.DOTALL)


def main(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a page would change.")
    ] = False,
) -> None:
    """Redraw the figures and tables of the documents.

    They follow from the files in results/.
    """
    make_folder(DOCS / "benchmarks")
    differ = []
    for page in sorted((DOCS / "benchmarks").glob("*.md")):
        text = page.read_text("utf-8")
        if filled(text) != text:
            differ.append(page.name)
            if not check:
                page.write_text(filled(text), "utf-8")
    if check and differ:
        raise typer.Exit(1)
    if not check:
        save_cells()
        for path, image in figures().items():
            path.write_text(image, "utf-8")
        for figure in FIGURES.values():
            if figure.name != "fano":
                draw(figure, RESULTS / "reproduce")
    print(f"tables changed: {', '.join(differ) or 'none'}")
