"""Fig. 1 of the paper: who memorises labels of which 80 % are wrong, and how many bits of them.

    python docs/measure_information.py --data-dir DIR

Trains the paper's network of 4 × 512 ReLU units on part of MNIST: with cross-entropy, with cross-entropy and
dropout or weight decay chosen by the noisy validation labels, and with LIMIT-L. Writes
results/information.json; `make docs` puts the table and the figures into docs/information.md.
"""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

from pages.spread import spread_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "information.json"
MEMORISATION = ROOT / "docs" / "memorisation.svg"
FANO = ROOT / "docs" / "fano.svg"

EXAMPLES = 12_500
"""The first of MNIST's training part: enough to learn from, few enough for two cores."""
PROBLEM = {
    "noise": "uniform:0.8",
    "network": "mlp-4x512",
    "epochs": 100,
    "patience": 100,
    "validation_share": 0.1,
    "test_share": 0.1,
}
TRAININGS: dict[str, dict[str, Any]] = {
    "cross-entropy": {"method": "ce"},
    "dropout": {"method": "ce", "dropout": [0.25, 0.5, 0.75]},
    "weight decay": {"method": "ce", "weight_decay": [1e-4, 1e-3, 1e-2]},
    "LIMIT-L": {"method": "limit-l", "beta": 10},
}
DIGITS = {name: value for name, value in PROBLEM.items() if not name.endswith("_share")}
"""The same on scikit-learn's digits, a tenth of the examples."""
ON_DIGITS = ("cross-entropy", "LIMIT-L")
PARTS = ("train", "validation", "test")
CURVES = ("train_accuracy", "test_accuracy", "memorised_bits", "wrong_fitted")
NOISES = ("0.2", "0.4", "0.6", "0.8")


def measure(data_dir: str, jobs: int, seeds: Sequence[int], out: Path) -> dict[str, Any]:
    """Train everything; of the settings that the noisy validation labels choose, keep every epoch."""
    from noiselimit import choose, grid, load_run

    work = [
        (source, name, spec)
        for source, problem, names in (("mnist", PROBLEM, tuple(TRAININGS)), ("digits", DIGITS, ON_DIGITS))
        for name in reversed(names)  # LIMIT-L takes longest, so it begins
        for spec in grid(seed=list(seeds), **TRAININGS[name], **problem)
    ]
    folders = train_all(work, data_dir, jobs, out)
    found: dict[str, dict[str, list[Any]]] = {"mnist": {}, "digits": {}}
    for (source, name, _), folder in zip(work, folders, strict=True):
        found[source].setdefault(name, []).append(load_run(folder))
    runs, digits = found["mnist"], found["digits"]
    first = runs["cross-entropy"][0].metrics
    return {
        "command": "python docs/measure_information.py",
        "problem": PROBLEM,
        "trainings": TRAININGS,
        "seeds": list(seeds),
        "examples": {part: first[f"{part}_examples"] for part in PARTS},
        "noise_entropy": first["noise_entropy"],
        "hardware": first["device"],
        "versions": first["versions"],
        "runs": [
            _line(name, run, chosen)
            for name, group in runs.items()
            for run, chosen in zip(group, choose(group), strict=True)
        ],
        "digits": {
            "problem": DIGITS,
            "examples": {part: digits["LIMIT-L"][0].metrics[f"{part}_examples"] for part in PARTS},
            "runs": [_line(name, run, chosen=False) for name, group in digits.items() for run in group],
        },
    }


def train_all(work: Sequence[tuple[str, str, Any]], data_dir: str, jobs: int, out: Path) -> list[Path]:
    """The run folders of data set, training and spec each.

    Networks that differ in dropout are no cohort, so each run gets a process and a core of its own, and a
    folder: one takes one training at a time.
    """
    own = [out / str(number) for number in range(len(work))]
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return list(pool.map(_train, *zip(*work, strict=True), repeat(data_dir), own))


def _train(source: str, name: str, spec: Any, data_dir: str, out: Path) -> Path:
    from noiselimit import load_data, train

    everything = load_data(source, data_dir if source == "mnist" else None).examples
    examples = (everything.inputs[:EXAMPLES], everything.labels[:EXAMPLES])
    (run,) = train(spec, examples, out=out, device="cpu", threads=1)
    assert run.path is not None
    print(f"{source}, {name}: {run.path.name}, {run.metrics['cohort_seconds']:.0f} s", flush=True)
    return run.path


def _line(name: str, run: Any, chosen: bool) -> dict[str, Any]:
    line = {
        "training": name,
        "setting": {
            what: getattr(run.spec, what) for what in ("dropout", "weight_decay") if what in TRAININGS[name]
        },
        "seed": run.spec.seed,
        "chosen": chosen,
        **{
            what: run.metrics[what]
            for what in (
                "validation_accuracy",
                "validation_loss",
                "test_accuracy",
                "last_test_accuracy",
                "memorised_bits",
                "memorised_wrong_labels",
                "failure",
                "cohort_seconds",
            )
        },
        "last_train_accuracy": run.history[-1]["train_accuracy"],
    }
    if chosen:
        line["epochs"] = {curve: [round(record[curve], 4) for record in run.history] for curve in CURVES}
    return line


def stored() -> dict[str, Any]:
    """results/information.json."""
    return dict(json.loads(RESULTS.read_text("utf-8")))


def chosen_runs(results: dict[str, Any], training: str) -> list[dict[str, Any]]:
    """One line per seed of the chosen setting."""
    return [line for line in results["runs"] if line["training"] == training and line["chosen"]]


def table(results: dict[str, Any]) -> str:
    """The last epoch of each training as a Markdown table."""
    rows = [
        "| training | rate | training accuracy, noisy labels | implied bits per label "
        "| wrong labels fitted | test accuracy, best epoch | test accuracy, last epoch |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    settings: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in sorted(results["runs"], key=lambda line: list(TRAININGS).index(line["training"])):
        setting = ", ".join(f"{value:g}" for value in line["setting"].values())
        settings.setdefault((line["training"], setting), []).append(line)
    for (name, setting), lines in settings.items():
        star = " ★" if setting and lines[0]["chosen"] else ""
        cells = [
            _percent([line["last_train_accuracy"] for line in lines]),
            spread_text([line["memorised_bits"] for line in lines], 2),
            _percent([line["memorised_wrong_labels"] for line in lines]),
            _percent([line["test_accuracy"] for line in lines]),
            _percent([line["last_test_accuracy"] for line in lines]),
        ]
        rows.append(f"| {name}{star} | {setting or '–'} | " + " | ".join(cells) + " |")
    sizes, seeds = results["examples"], ", ".join(map(str, results["seeds"]))
    over = f"mean ± standard deviation over seeds {seeds}" if len(results["seeds"]) > 1 else f"seed {seeds}"
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    seconds = [line["cohort_seconds"] for line in results["runs"]]
    rows += [
        "",
        f"MNIST, {sizes['train']} training examples whose labels are wrong with probability 0.8 (uniform "
        f"noise, H(y|x) = {results['noise_entropy']:.2f} bits), {sizes['validation']} validation examples "
        f"with the same noise, {sizes['test']} clean test examples; 4 × 512 ReLU units, Adam 0.001, batches "
        f"of 256, {results['problem']['epochs']} epochs, {over}. ★ chosen by noisy-validation accuracy. "
        "LIMIT-L has β = 10. Training accuracy and implied bits are those of the last epoch, counted while "
        "it trained; with dropout they are of the whole network after it, as wrong labels fitted is of all. "
        f"One run took {min(seconds):.0f} to {max(seconds):.0f} s on one core of "
        f"{results['hardware']} with other work beside it ({versions}).",
    ]
    return "\n".join(rows)


def digits_sentence(results: dict[str, Any]) -> str:
    """What the same trainings do where there is less to learn from."""
    digits = results["digits"]
    bits, accuracy = (
        {name: fmean(line[what] for line in digits["runs"] if line["training"] == name) for name in ON_DIGITS}
        for what in ("memorised_bits", "last_test_accuracy")
    )
    seeds = ", ".join(map(str, results["seeds"]))
    return (
        f"With the same noise, network and epochs on the {digits['examples']['train']} training examples of "
        f"scikit-learn's digits, cross-entropy implies {bits['cross-entropy']:.2f} bits per label and "
        f"LIMIT-L at β = 10 {bits['LIMIT-L']:.2f}; test accuracy after the last epoch is "
        f"{100 * accuracy['cross-entropy']:.1f} % and {100 * accuracy['LIMIT-L']:.1f} % (seed {seeds}). With "
        "that little to learn from, the predictor memorises too, only more slowly."
    )


def _percent(values: Sequence[float]) -> str:
    return spread_text([100 * value for value in values], 1) + " %"


def memorisation_chart(results: dict[str, Any]) -> str:
    """Fig. 1 as an SVG file: accuracy on the noisy training labels beside that on clean ones."""
    from noiselimit.report.charts import Line, line_chart
    from noiselimit.report.panels import panels

    charts: list[str] = []
    for curve, y_label, reference in (
        ("train_accuracy", "training accuracy, noisy labels", (0.2, "right labels: 20 %")),
        ("test_accuracy", "test accuracy, clean labels", None),
    ):
        lines = [
            Line(
                name,
                list(enumerate(line["epochs"][curve], 1)),
                "chosen" if name == "LIMIT-L" else "baseline",
                tooltip=f"{name}, seed {line['seed']}",
            )
            for name in TRAININGS
            for line in chosen_runs(results, name)
        ]
        charts.append(
            line_chart(
                lines,
                title=f"{y_label}, per epoch".capitalize(),
                x_label="epoch",
                y_label=y_label,
                reference=reference,
                standalone=True,
            )
        )
    return panels(charts, title="Memorisation of noisy labels, per epoch")


def fano_figure() -> str:
    """Fig. 2 as `noiselimit bound plot` draws it."""
    from noiselimit.report.fano_chart import fano_chart, fano_curve

    return fano_chart([fano_curve(noise, 10) for noise in NOISES], 10)


def draw() -> None:
    """Both figures, from the stored results."""
    MEMORISATION.write_text(memorisation_chart(stored()), "utf-8")
    FANO.write_text(fano_figure(), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", required=True, help="folder of MNIST's four files")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, each on one core")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--runs", default=None, help="folder for the run folders")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    out = Path(given.runs or ROOT / "runs" / "information")
    results = measure(given.data_dir, given.jobs, seeds, out)
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"written: {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
