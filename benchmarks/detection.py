"""Who finds wrong labels best: our audit, cleanlab, AUM and plain loss, with the same data and network."""

import json
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.peers import (
    Arrays,
    Flags,
    Setting,
    area_under_margin,
    below_threshold,
    cleanlab_flags,
    cross_validate,
    flagging,
    loss,
    normalized_margin,
    ranking,
    self_confidence,
    train_margins,
    train_plain,
    train_threshold,
)
from benchmarks.problems import Labelled, Labels, Problem, load_problem, make_problems
from benchmarks.results import (
    DETECTION,
    SCHEMA,
    Content,
    now,
    print_results,
    read_results,
    source_state,
    trainings_of,
)
from benchmarks.speed import peak_memory, reset_memory
from noiselimit.audit.find import find_label_issues
from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import find_device
from noiselimit.engine.preparation import split_examples
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores
from noiselimit.training import environment

JUDGING = 3  # raised when audits with the same settings come to other results
WHEN = ("last", "stopped")
CLEANLAB = {"self-confidence": self_confidence, "normalized-margin": normalized_margin}
METHODS = [f"cleanlab-{rank}-{when}" for when in WHEN for rank in CLEANLAB]
METHODS += ["aum-last", "aum-stopped", "ce-loss-last", "ce-loss-stopped"]
METHODS += ["folds-averaged", "ours-default", "ours-fast"]
"""`folds-averaged` is no tool: our score on cross-validated probabilities, to show what LIMIT adds."""
COMMON = ("network", "epochs", "batch_size", "optimiser", "learning_rate", "schedule", "augmentation")
Row = dict[str, Any]


def audit_with(plan: AuditPlan, data: DataSet, seed: int, setting: Setting) -> Arrays:
    """Our audit. Its table as arrays, `seen` [n]: in training and not held out, and `facts` as JSON."""
    # The common epochs are the usual ones of these data; an audit may take a share of them.
    usual = {} if setting.epochs is None else {"epochs": setting.epochs}
    data = replace(data, defaults={**data.defaults, **usual})
    own = replace(setting.plan(plan, seed), epochs=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        table = find_label_issues(data, plan=own, device=setting.device, threads=setting.threads)
    seen = np.zeros(len(data.examples), np.bool_)
    seen[split_examples(len(seen), seed, validation_share=plan.validation_share).train] = True
    trained = [{"method": s.method, **s.hyper, "epochs": s.epochs} for s in own.specs(data)]
    facts = {name: table.attrs[name] for name in ("share", "interval", "warning", "known_from")}
    return {
        "gap": table["gap"].to_numpy(np.float64),
        "flags": table["is_label_issue"].to_numpy(np.bool_),
        "seen": seen,
        "facts": np.array(json.dumps({**facts, "trained": trained})),
    }


def audit_default(data: DataSet, seed: int, setting: Setting) -> Arrays:
    """`noiselimit audit`."""
    return audit_with(DEFAULT, data, seed, setting)


def audit_fast(data: DataSet, seed: int, setting: Setting) -> Arrays:
    """`noiselimit audit --fast`."""
    return audit_with(FAST, data, seed, setting)


TRAININGS: dict[str, Callable[[DataSet, int, Setting], Arrays]] = {
    "folds": cross_validate,
    "plain": train_plain,
    "margins": train_margins,
    "threshold": train_threshold,
    "default": audit_default,
    "fast": audit_fast,
}


def run_training(training: str, problem: Problem, setting: Setting) -> tuple[Arrays, Row]:
    """Train, and measure `seconds`, `cpu_seconds` of all threads and `peak_memory` in bytes."""
    data, device = load_problem(problem).data, find_device(setting.device)
    reset_memory(device)
    started, computed = time.perf_counter(), time.process_time()
    found = TRAININGS[training](data, problem.seed, setting)
    took: Row = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - computed}
    memory = peak_memory(device)["peak_memory"]
    if device.type == "cpu":
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1 if sys.platform == "darwin" else 1024
        )
    return found, {**took, "peak_memory": memory}


def run_alone(training: str, problem: Problem, setting: Setting) -> tuple[Arrays, Row]:
    """As `run_training`; on a CPU in a new process, whose peak memory is that of the training."""
    if find_device(setting.device).type == "cuda":
        return run_training(training, problem, setting)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run_training, training, problem, setting).result()


def score(method: str, found: Mapping[str, Arrays], given: Labels, wrong: Flags) -> Row:
    """The figures of a method from what its trainings found."""
    if method.startswith("ours"):
        return _score_ours(found[method.removeprefix("ours-")], wrong)
    if method == "folds-averaged":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            table = find_label_issues(labels=given, pred_probs=found["folds"]["averaged"])
        flags, share = table["is_label_issue"].to_numpy(np.bool_), table.attrs["share"]
        entry = {**ranking(table["gap"].to_numpy(), wrong), **flagging(flags, share, wrong)}
        return {**entry, "interval": table.attrs["interval"]}
    rank, _, when = method.rpartition("-")
    if rank == "ce-loss":
        return dict(ranking(loss(found["plain"][when], given), wrong))
    if rank == "aum":
        epochs = None if when == "last" else int(found["plain"]["best_epochs"][0])
        entry = dict(ranking(area_under_margin(found["margins"]["margins"], epochs), wrong))
        if "threshold" in found:
            flags = below_threshold(found["threshold"]["margins"], found["threshold"]["sets"], epochs)
            entry |= flagging(flags, float(flags.mean()), wrong)
        return entry
    probabilities = found["folds"][when]
    entry = dict(ranking(CLEANLAB[rank.removeprefix("cleanlab-")](probabilities, given), wrong))
    if find_spec("cleanlab") is not None:
        entry |= flagging(*cleanlab_flags(probabilities, given), wrong)
    return entry


def _score_ours(found: Arrays, wrong: Flags) -> Row:
    """Also tells whether examples seen in training are judged worse than those held out."""
    facts = json.loads(str(found["facts"]))
    gap, flags, share = found["gap"], found["flags"], facts.pop("share")
    entry: Row = {**ranking(gap, wrong), **flagging(flags, share, wrong)}
    for name, part in (("seen", found["seen"]), ("held_out", ~found["seen"])):
        own = wrong[part]
        entry[f"auroc_{name}"] = ranking(gap[part], own)["auroc"]
        entry[f"recall_{name}"] = float(flags[part][own].mean()) if own.any() else None
        entry[f"false_positives_{name}"] = float(flags[part][~own].mean()) if not own.all() else None
    return {**entry, **facts}


def measure_row(
    problem: Problem, labelled: Labelled, setting: Setting, without: list[str], log: Callable[[str], None]
) -> tuple[Row, dict[str, Arrays]]:
    """Run all trainings of a problem and score all methods. A training that fails leaves its reason."""
    found: dict[str, Arrays] = {}
    took: dict[str, Row] = {}
    failures: dict[str, str] = {}
    for training in TRAININGS:
        if training in without:
            continue
        log(f"{problem.name}, {training}")
        try:
            found[training], took[training] = run_alone(training, problem, setting)
        except RuntimeError as error:  # out of memory, a loss that is not finite
            failures[training] = str(error).strip().split("\n")[0]
    spec = setting.spec(labelled.data, problem.seed)
    commit, changed = source_state()
    given, wrong = labelled.data.examples.labels, labelled.wrong
    row = {
        "problem": problem.key,
        "n": len(wrong),
        "classes": labelled.data.examples.classes,
        "wrong": float(wrong.mean()),
        "training": {name: getattr(spec, name) for name in (*COMMON, "precision", "validation_share")},
        "date": now(),
        "commit": commit,
        "changed": changed,
        "failures": failures,
        "best_epochs": {name: a["best_epochs"].tolist() for name, a in found.items() if "best_epochs" in a},
        "trainings": took,
        "methods": {
            method: score(method, found, given, wrong)
            for method in METHODS
            if all(training in found for training in trainings_of(method))
        },
    }
    return row, found


def open_results(path: Path, setting: Setting, *, quick: bool) -> Content:
    """The content to add rows to: that of the file, if it was measured in the same setting, or a new one."""
    device = find_device(setting.device)
    plans = {"default": asdict(DEFAULT), "fast": asdict(FAST), "judging": JUDGING}
    new: Content = {
        "kind": DETECTION,
        "schema": SCHEMA,
        **environment(device),
        "device_type": device.type,
        "threads": setting.threads or available_cores(),
        "quick": quick,
        "kernels": "auto",
        "graphs": "auto",
        "epochs": setting.epochs,
        "network": setting.network,
        "plans": json.loads(json.dumps(plans)),
        "finished": False,
        "rows": [],
    }
    if not path.exists():
        make_folder(path.parent)
        return new
    older = read_results(path, [DETECTION])
    for name in new.keys() - {"rows", "finished"}:
        if older.get(name) != new[name]:
            raise InputError(
                f"{path} was measured with another value of {name}: name another file with --out."
            )
    return older


def compare_tools(
    problems: list[Problem],
    setting: Setting,
    out: Path,
    *,
    quick: bool = False,
    without: list[str] | None = None,
    keep: Path | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> Content:
    """Measure the rows that `out` lacks; it is rewritten after every row. Failed rows are tried again."""
    content = open_results(out, setting, quick=quick)
    without = without or []
    done = [row["problem"] for row in content["rows"] if not row["failures"]]
    missing = [problem for problem in problems if problem.key not in done]
    for number, problem in enumerate(missing):
        labelled = load_problem(problem)
        if number == 0 and find_device(setting.device).type == "cuda":
            for training in TRAININGS.keys() - set(without):  # compiles kernels, which is nobody's time
                TRAININGS[training](labelled.data, 0, replace(setting, epochs=1))
        row, found = measure_row(problem, labelled, setting, without, log)
        if keep is not None and "folds" in found:
            make_folder(keep)
            folds: dict[str, Any] = {when: found["folds"][when].astype(np.float16) for when in WHEN}
            given = labelled.data.examples.labels
            np.savez_compressed(keep / f"{problem.name}.npz", given=given, clean=labelled.clean, **folds)
        others = [other for other in content["rows"] if other["problem"] != problem.key]
        content |= {"finished": number == len(missing) - 1, "rows": [*others, row]}
        write_json(out, content)
    return content


def ask_cleanlab(folder: Path, out: Path) -> Content:
    """Add cleanlab's flags to rows whose probabilities were kept in `folder`, and rewrite `out`."""
    if find_spec("cleanlab") is None:
        raise InputError("cleanlab is not installed: pip install 'noiselimit[peers]'.")
    content = read_results(out, [DETECTION])
    for row in content["rows"]:
        path = folder / f"{Problem(**row['problem']).name}.npz"
        if not path.is_file():
            raise InputError(f"{path} does not exist: name the folder of --save-probabilities.")
        with np.load(path, allow_pickle=False) as arrays:
            given, wrong = arrays["given"], arrays["given"] != arrays["clean"]
            for when in WHEN:
                figures = flagging(*cleanlab_flags(arrays[when], given), wrong)
                for rank in CLEANLAB:
                    row["methods"][f"cleanlab-{rank}-{when}"] |= figures
    write_json(out, content)
    return content


def main(
    data: Annotated[
        str, typer.Option(help="Data sets in memory; also breast_cancer, wine, overlapping, clouds, shapes.")
    ] = "digits,mnist",
    noise: Annotated[
        str | None, typer.Option(help="As in training, or next:P. Default: by the data.")
    ] = None,
    seed: Annotated[str, typer.Option(help="One row for each.")] = "0,1,2",
    examples: Annotated[int | None, typer.Option(help="Use so many. Default: all; 10000 of mnist.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Default: those of an audit of the data.")] = None,
    network: Annotated[str, typer.Option(help="For every tool.")] = "auto",
    data_dir: Annotated[str | None, typer.Option(help="Folder of data sets such as mnist.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="On a CPU. Default: all cores.")] = None,
    out: Annotated[Path, typer.Option(help="JSON file; rows it holds are kept.")] = Path("detection.json"),
    save_probabilities: Annotated[Path | None, typer.Option(help="Keep probabilities for --score.")] = None,
    score: Annotated[
        Path | None, typer.Option(help="Train nothing: ask cleanlab about probabilities kept there.")
    ] = None,
    without: Annotated[str, typer.Option(help=f"Leave out some of {', '.join(TRAININGS)}.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: shows that it works.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Compare how well tools find wrong labels. The clean labels are known; no tool sees them."""
    left_out = without.split(",") if without else []
    for name in left_out:
        if name not in TRAININGS:
            raise unknown("training", name, TRAININGS)
    if not all(each.isdecimal() for each in seed.split(",")):
        raise InputError(f"seed is '{seed}': give whole numbers ≥ 0 with commas between.")
    started = time.monotonic()

    def log(text: str) -> None:
        if not quiet:
            print(f"detection: {text} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)

    if score is not None:
        content = ask_cleanlab(score, out)
    else:
        noises = noise.split(",") if noise else None
        seeds = [int(each) for each in seed.split(",")]
        problems = make_problems(data.split(","), noises, seeds, examples, data_dir, quick=quick)
        setting = Setting(2 if quick and epochs is None else epochs, network, device, threads)
        content = compare_tools(
            problems, setting, out, quick=quick, without=left_out, keep=save_probabilities, log=log
        )
    if as_json:
        print(json.dumps(content, indent=2))
    else:
        print_results(content)
        print(f"Results are in {out}")
    if any(row["failures"] for row in content["rows"]):
        raise typer.Exit(1)
