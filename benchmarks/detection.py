"""Who finds wrong labels best: our audit, cleanlab, AUM and plain loss, with the same data and network."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.peers import (
    Flags,
    Found,
    Setting,
    cleanlab_flags,
    cross_validate,
    cross_validate_logistic,
    flagging,
    loss,
    normalized_margin,
    ranking,
    self_confidence,
    train_margins,
    train_plain,
)
from benchmarks.problems import Labels, Problem, load_problem, make_problems
from benchmarks.results import (
    DETECTION,
    METHODS,
    Content,
    DataDir,
    Device,
    Quick,
    Threads,
    environment,
    print_results,
    read_results,
)
from benchmarks.speed import reset_memory
from noiselimit.audit.find import find_label_issues
from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.features.pictures import PictureFeatures
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores

CLEANLAB = {"self-confidence": self_confidence, "normalized-margin": normalized_margin}
COMMON = ("network", "epochs", "batch_size", "optimiser", "learning_rate", "schedule", "augmentation")
Row = dict[str, Any]


def audit_with(plan: AuditPlan, data: DataSet, seed: int, setting: Setting) -> Found:
    """Our audit: gaps and flags [n], `share` of wrong labels, and `facts`."""
    # The common epochs are the usual ones of these data; an audit may take a share of them.
    usual = {} if setting.epochs is None else {"epochs": setting.epochs}
    data = replace(data, defaults={**data.defaults, **usual})
    own = replace(setting.plan(plan, seed), epochs=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        table = find_label_issues(
            data, plan=own, device=setting.device, threads=setting.threads, features="none"
        )
    trained = [{"method": s.method, **s.hyper, "epochs": s.epochs} for s in own.specs(data)]
    facts = {name: table.attrs[name] for name in ("interval", "warning", "known_from")}
    return {
        "gap": table["gap"].to_numpy(np.float64),
        "flags": table["is_label_issue"].to_numpy(np.bool_),
        "share": table.attrs["wrong_share"],
        "facts": {**facts, "trained": trained},
    }


TRAININGS: dict[str, Callable[[DataSet, int, Setting], Found]] = {
    "folds": cross_validate,
    "logistic": cross_validate_logistic,
    "plain": train_plain,
    "margins": train_margins,
    "default": partial(audit_with, DEFAULT),
    "fast": partial(audit_with, FAST),
}


def score(method: str, found: Mapping[str, Found], given: Labels, wrong: Flags) -> Row:
    """The figures of a method from what its trainings found."""
    if method.startswith("ours"):
        ours = found[method.removeprefix("ours-")]
        figures = flagging(ours["flags"], ours["share"], wrong)
        return {**ranking(ours["gap"], wrong), **figures, **ours["facts"]}
    if method == "folds-averaged":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            table = find_label_issues(labels=given, pred_probs=found["folds"]["averaged"])
        flags, share = table["is_label_issue"].to_numpy(np.bool_), table.attrs["wrong_share"]
        return {**ranking(table["gap"].to_numpy(), wrong), **flagging(flags, share, wrong)}
    rank, _, when = method.rpartition("-")
    if rank == "ce-loss":
        return dict(ranking(loss(found["plain"][when], given), wrong))
    if rank == "aum":
        epochs = None if when == "last" else int(found["plain"]["best_epochs"][0])
        margins = found["margins"]["margins"][:epochs].astype(np.float64)
        return dict(ranking(-margins.mean(0), wrong))
    probabilities = found["logistic" if when == "logistic" else "folds"][when]
    entry = dict(ranking(CLEANLAB[rank.removeprefix("cleanlab-")](probabilities, given), wrong))
    if find_spec("cleanlab") is not None:
        entry |= flagging(*cleanlab_flags(probabilities, given), wrong)
    return entry


def measure_row(problem: Problem, setting: Setting) -> Row:
    """Run all trainings of a problem and score all methods. A training that fails leaves its reason."""
    started, computed = time.perf_counter(), time.process_time()
    device = find_device(setting.device)
    data, wrong = load_problem(problem, setting.features, setting.cache)
    if len(data.examples.input_shape) == 3:  # features of text are there already
        features = PictureFeatures(setting.features, setting.network, setting.device, setting.side)
        data = features.apply(data, cache=setting.cache, threads=setting.threads)
    embedding = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - computed}
    found: dict[str, Found] = {}
    took: dict[str, Row] = {}
    failures: dict[str, str] = {}
    for name in setting.trainings or TRAININGS:
        training = TRAININGS[name]
        title = f"{problem.data}, {problem.noise}, seed {problem.seed}: {name}"
        print(f"detection: {title}", file=sys.stderr, flush=True)
        reset_memory(device)
        started, computed = time.perf_counter(), time.process_time()
        try:
            found[name] = training(data, problem.seed, setting)
        except RuntimeError as error:  # out of memory, a loss that is not finite
            failures[name] = str(error).strip().split("\n")[0]
            continue
        seconds, own = time.perf_counter() - started, time.process_time() - computed
        took[name] = {"seconds": seconds, "cpu_seconds": own}
    spec = setting.spec(data, problem.seed)
    facts = environment(device)
    return {
        "problem": problem.key,
        "n": len(wrong),
        "classes": data.examples.classes,
        "wrong": float(wrong.mean()),
        "training": {name: getattr(spec, name) for name in (*COMMON, "precision", "validation_share")},
        "date": facts["date"],
        "commit": facts["commit"],
        "failures": failures,
        "best_epochs": {name: a["best_epochs"].tolist() for name, a in found.items() if "best_epochs" in a},
        "features": None
        if setting.features == "none"
        else {"name": str(data.embedding or setting.features), **embedding},
        "trainings": took,
        "methods": {
            method: score(method, found, data.examples.labels, wrong)
            for method, needed in METHODS.items()
            if all(training in found for training in needed)
        },
    }


def open_results(path: Path, setting: Setting, *, quick: bool) -> Content:
    """The content to add rows to: that of the file, if it was measured in the same setting, or a new one."""
    device = find_device(setting.device)
    facts = environment(device)
    new: Content = {
        "kind": DETECTION,
        **{name: facts[name] for name in ("device", "versions")},
        "device_type": device.type,
        "threads": setting.threads or available_cores(),
        "quick": quick,
        "epochs": setting.epochs,
        "network": setting.network,
        "features": setting.features,
        "side": setting.side,
        "plans": json.loads(json.dumps({"default": asdict(DEFAULT), "fast": asdict(FAST)})),
        "finished": False,
        "rows": [],
    }
    if not path.exists():
        make_folder(path.parent)
        return new
    older = {"features": "none", "side": None, **read_results(path)}
    for name in ("kind", "device", "versions", "threads", "quick", "epochs", "network", "features", "side"):
        if older.get(name) != new[name]:
            raise InputError(f"{path} was measured with another {name}: choose another file with --out.")
    return older


def compare_tools(problems: list[Problem], setting: Setting, out: Path, *, quick: bool = False) -> Content:
    """Measure the rows that `out` lacks; it is rewritten after every row. Failed rows are tried again."""
    content = open_results(out, setting, quick=quick)
    done = [row["problem"] for row in content["rows"] if not row["failures"]]
    missing = [problem for problem in problems if problem.key not in done]
    for number, problem in enumerate(missing):
        if number == 0 and find_device(setting.device).type == "cuda":
            # Compile kernels, which should not count.
            measure_row(problem, replace(setting, epochs=1, trainings=("folds", "default")))
        row = measure_row(problem, setting)
        others = [other for other in content["rows"] if other["problem"] != problem.key]
        content |= {"finished": number == len(missing) - 1, "rows": [*others, row]}
        write_json(out, content)
    return content


def main(
    data: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Data sets or files that fit into memory; also breast_cancer, wine, overlapping, clouds, "
            "shapes.",
        ),
    ] = "digits,mnist",
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="NOISE,...",
            help="Noises as in noiselimit train, or next:P. Default: those usual for the data.",
        ),
    ] = None,
    seed: Annotated[
        str, typer.Option(metavar="N,...", help="Seeds; each gives one row of results.")
    ] = "0,1,2",
    examples: Annotated[
        int | None, typer.Option(metavar="N", help="Number of examples to use. Default: all; 10000 of mnist.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", help="Epochs of each training. Default: as in an audit.")
    ] = None,
    network: Annotated[str, typer.Option(metavar="NAME", help="Network that every tool trains.")] = "auto",
    features: Annotated[
        str, typer.Option(metavar="NAME", help="Features of images or text, for every tool; as in an audit.")
    ] = "none",
    resize: Annotated[
        int | None, typer.Option(metavar="PIXELS", help="Side of the images to embed; as in an audit.")
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    threads: Threads = None,
    trainings: Annotated[
        str | None, typer.Option(metavar="NAME,...", help=f"Of {', '.join(TRAININGS)}. Default: all.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Keep features here, to embed once.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write; its rows are kept.")] = Path(
        "detection.json"
    ),
    quick: Quick = False,
) -> None:
    """Compare how well tools find wrong labels.

    The clean labels are known, but no tool sees them.
    """
    if not all(each.isdecimal() for each in seed.split(",")):
        raise InputError(f"seed is '{seed}': give whole numbers ≥ 0, separated by commas.")
    noises = noise.split(",") if noise else None
    seeds = [int(each) for each in seed.split(",")]
    problems = make_problems(data.split(","), noises, seeds, examples, data_dir, quick=quick)
    chosen = tuple(trainings.split(",")) if trainings else ()
    for each in set(chosen) - set(TRAININGS):
        raise unknown("training", each, TRAININGS)
    usual = 2 if quick and epochs is None else epochs
    setting = Setting(usual, network, device, threads, features, resize, cache, chosen)
    content = compare_tools(problems, setting, out, quick=quick)
    print_results(content)
    if any(row["failures"] for row in content["rows"]):
        raise typer.Exit(1)
