"""Re-create every figure in README.md and docs/: `make docs`.

Runs the demo for three seeds (about two minutes on two cores), stores what came out in results/demo.json,
draws docs/demo.svg, and rewrites the parts of the documents between <!-- NAME --> and <!-- /NAME -->.
`tests/docs/test_docs.py` checks that the documents say what the file says.
"""

import argparse
import io
import json
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure_audit
import measure_audit_scale
import measure_bad_input
import measure_checkpoints
import measure_information
import measure_methods
import measure_networks
from pages import causes as causes_page
from pages import faults as faults_page
from pages import fuzz as fuzz_page
from pages.audit import tables as audit_tables
from pages.performance import page as performance_page
from pages.results import page as results_page

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "demo.json"
PICTURE = ROOT / "docs" / "demo.svg"
SEEDS = (0, 1, 2)
COLUMNS = {
    "test_accuracy": "test accuracy, chosen epoch",
    "last_test_accuracy": "test accuracy, last epoch",
    "memorised_wrong_labels": "wrong labels memorised",
    "gap_auc": "gap ROC AUC",
}


def measure() -> dict[str, Any]:
    """Run the demo as a person would, then for the other seeds; returns the content of results/demo.json."""
    from noiselimit.cli.main import run
    from noiselimit.data.digits import digits
    from noiselimit.report import learning_curves
    from noiselimit.run_report import make_report
    from noiselimit.runs import load_run

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        started, printed = time.perf_counter(), io.StringIO()
        with redirect_stdout(printed):
            assert run(["demo", "--out", str(out), "--quiet"]) == 0
        seconds = time.perf_counter() - started
        runs = [load_run(out / line["folder"]) for line in json.loads((out / "summary.json").read_text())]
        PICTURE.write_text(learning_curves(make_report("", runs, digits()), standalone=True)[0].svg, "utf-8")
        metrics = runs[0].metrics
        others = Path(folder) / "all"
        with redirect_stdout(io.StringIO()):
            seeds = ",".join(map(str, SEEDS))
            assert run(["demo", "--out", str(others), "--quiet", "--seed", seeds]) == 0
        lines = json.loads((others / "summary.json").read_text())
    return {
        "command": "noiselimit demo",
        "printed": printed.getvalue().replace(str(out), "demo"),
        "seconds": round(seconds, 1),
        "seeds": list(SEEDS),
        "examples": {part: metrics[f"{part}_examples"] for part in ("train", "validation", "test")},
        "epochs": metrics["last_epoch"],
        "hardware": metrics["device"],
        "versions": metrics["versions"],
        "runs": lines,
    }


def blocks() -> dict[str, str]:
    """Name → the text that stands in the documents under it, from the files in results/."""
    demo = json.loads(RESULTS.read_text("utf-8"))
    methods = json.loads(measure_methods.TABLE.read_text("utf-8"))
    information = measure_information.stored()
    reproduced = results_page.stored()
    return {
        "audit-output": measure_audit.output(measure_audit.stored()),
        "audit-scale": measure_audit_scale.table(measure_audit_scale.stored()),
        "causes": causes_page.block(reproduced.causes, reproduced.rows["mnist"]),
        "demo-output": f"```text\n{demo['printed'].rstrip()}\n```",
        "demo-seeds": seed_table(demo),
        "information": measure_information.table(information),
        "information-digits": measure_information.digits_sentence(information),
        "methods": measure_methods.table(methods),
        "networks-cost": measure_networks.table(measure_networks.stored()),
        **audit_tables.blocks(audit_tables.stored()),
        "checkpoint-cost": measure_checkpoints.block(measure_checkpoints.stored()),
        **faults_page.blocks(faults_page.stored()),
        **fuzz_page.blocks(fuzz_page.stored()),
        **measure_bad_input.blocks(measure_bad_input.stored()),
        **performance_page.blocks(performance_page.stored()),
        **results_page.blocks(reproduced),
    }


def seed_table(results: dict[str, Any]) -> str:
    """Mean ± standard deviation over the seeds, one row per setting, in Markdown."""
    settings: dict[tuple[str, float | None], list[dict[str, Any]]] = {}
    for line in results["runs"]:
        settings.setdefault((line["method"], line["beta"]), []).append(line)
    rows = [
        "| method | β | " + " | ".join(COLUMNS.values()) + " |",
        "| --- | --- |" + " ---: |" * len(COLUMNS),
    ]
    for (method, beta), lines in settings.items():
        cells = []
        for name in COLUMNS:
            values = [line[name] for line in lines]
            scale, digits, unit = (1, 4, "") if name == "gap_auc" else (100, 1, " %")
            mean, spread = scale * fmean(values), scale * stdev(values)
            cells.append(f"{mean:.{digits}f} ± {spread:.{digits}f}{unit}")
        star = " ★" if lines[0]["chosen"] else ""
        rows.append(
            f"| {method}{star} | {'–' if beta is None else f'{beta:g}'} | " + " | ".join(cells) + " |"
        )
    sizes = results["examples"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    rows.append("")
    rows.append(
        f"Mean ± standard deviation over seeds {', '.join(map(str, results['seeds']))}; {sizes['train']} "
        f"training, {sizes['validation']} validation and {sizes['test']} test examples, {results['epochs']} "
        f"epochs. ★ chosen by mean noisy-validation accuracy. One seed took {results['seconds']} s from "
        f"start to report on {results['hardware']} ({versions})."
    )
    return "\n".join(rows)


def documents() -> list[Path]:
    """Every document that may hold a generated block."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str, content: dict[str, str]) -> str:
    """The document with each of its generated blocks replaced."""
    for name, block in content.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        text = re.sub(
            pattern, lambda match, block=block: f"{match[1]}{block}\n{match[2]}", text, flags=re.DOTALL
        )
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the demo, then write; with --no-demo only put in what lies in results/."""
    parser = argparse.ArgumentParser(description="Re-create every figure in README.md and docs/.")
    parser.add_argument(
        "--no-demo", action="store_true", help="run nothing, only put in what lies in results/"
    )
    if not parser.parse_args(arguments).no_demo:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    measure_information.draw()
    performance_page.draw(performance_page.stored())
    results_page.draw()
    content = blocks()
    for path in documents():
        path.write_text(filled(path.read_text("utf-8"), content), "utf-8")


if __name__ == "__main__":
    main()
