"""Who finds wrong labels best: our audit, cleanlab, AUM and plain loss, with the same data and network."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
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
    adjusted_margin,
    calibration_error,
    cleanlab_flags,
    cross_validate,
    cross_validate_boosting,
    cross_validate_forest,
    cross_validate_logistic,
    flagging,
    loss,
    normalized_margin,
    ranking,
    self_confidence,
    train_margins,
    train_plain,
    vote_of_neighbours,
)
from benchmarks.problems import Labels, Problem, load_problem, make_problems
from benchmarks.results import (
    DETECTION,
    METHODS,
    MODELS,
    Content,
    DataDir,
    Quick,
    environment,
    print_results,
    read_results,
)
from benchmarks.speed import reset_memory
from noiselimit.audit.find import find_label_issues
from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.cli.options import path_option, with_options
from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError, Notice, unknown
from noiselimit.features.pictures import PictureFeatures
from noiselimit.fields import option
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores

CLEANLAB = {
    "self-confidence": self_confidence,
    "normalized-margin": normalized_margin,
    "adjusted-margin": adjusted_margin,
}
COMMON = ("network", "epochs", "batch_size", "optimiser", "learning_rate", "schedule", "augmentation")
Row = dict[str, Any]


def audit_with(plan: AuditPlan, data: DataSet, seed: int, setting: Setting) -> Found:
    """Our audit: probabilities of being wrong and flags [n], `share` of wrong labels, and `facts`."""
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
        "error": table["error_probability"].to_numpy(np.float64),
        "quality": table["label_quality"].to_numpy(np.float64),
        "flags": table["is_label_issue"].to_numpy(np.bool_),
        "share": table.attrs["wrong_share"],
        "facts": {**facts, "trained": trained},
    }


TRAININGS: dict[str, Callable[[DataSet, int, Setting], Found]] = {
    "folds": cross_validate,
    "logistic": cross_validate_logistic,
    "forest": cross_validate_forest,
    "boosting": cross_validate_boosting,
    "neighbours": vote_of_neighbours,
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
        calibration = {"calibration_error": calibration_error(ours["error"], wrong)}
        return {**ranking(-ours["quality"], wrong), **figures, **calibration, **ours["facts"]}
    if method == "folds-averaged":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Notice)
            table = find_label_issues(labels=given, pred_probs=found["folds"]["averaged"])
        flags, share = table["is_label_issue"].to_numpy(np.bool_), table.attrs["wrong_share"]
        return {**ranking(-table["label_quality"].to_numpy(), wrong), **flagging(flags, share, wrong)}
    rank, _, when = method.rpartition("-")
    if rank == "ce-loss":
        return dict(ranking(loss(found["plain"][when], given), wrong))
    if rank == "aum":
        epochs = None if when == "last" else int(found["plain"]["best_epochs"][0])
        margins = found["margins"]["margins"][:epochs].astype(np.float64)
        return dict(ranking(-margins.mean(0), wrong))
    if method == "neighbours":
        return dict(ranking(self_confidence(found["neighbours"]["votes"], given), wrong))
    probabilities = found[MODELS[when][0]][when]
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
        features = PictureFeatures(setting.features, setting.network, setting.device, setting.resize)
        data = features.apply(data, cache=setting.cache, threads=setting.threads)
    embedding = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - computed}
    found: dict[str, Found] = {}
    took: dict[str, Row] = {}
    failures: dict[str, str] = {}
    for name in setting.chosen or TRAININGS:
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
            for method, (_, needed) in METHODS.items()
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
        "side": setting.resize,
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
            measure_row(problem, replace(setting, epochs=1, trainings="folds,default"))
        row = measure_row(problem, setting)
        others = [other for other in content["rows"] if other["problem"] != problem.key]
        content |= {"finished": number == len(missing) - 1, "rows": [*others, row]}
        write_json(out, content)
    return content


@dataclass(frozen=True)
class Choice:
    """Which problems to measure."""

    data: str = option(
        "digits,mnist",
        "Data sets or files that fit into memory; also breast_cancer, wine, overlapping, clouds, shapes.",
        metavar="NAME,...",
    )
    noise: str | None = option(
        None, "Noises as in noiselimit train, or next:P.", metavar="NOISE,...", shown="usual for the data"
    )
    seed: str = option("0,1,2", "Seeds; each gives one row of results.", metavar="N,...")
    examples: int | None = option(
        None, "Number of examples to use.", metavar="N", shown="all; 10000 of mnist", min=2
    )

    def problems(self, data_dir: Path | None, *, quick: bool) -> list[Problem]:
        """Every problem, in order."""
        seeds, noises = self.seed.split(","), self.noise.split(",") if self.noise else None
        if not all(each.isdecimal() for each in seeds):
            raise InputError(f"seed is '{self.seed}': give whole numbers ≥ 0, separated by commas.")
        numbers = [int(each) for each in seeds]
        return make_problems(self.data.split(","), noises, numbers, self.examples, data_dir, quick=quick)


@with_options()
def main(
    *,
    choice: Choice,
    setting: Setting,
    data_dir: DataDir = None,
    out: Annotated[Path, path_option("FILE", "JSON file to write; its rows are kept.")] = Path(
        "detection.json"
    ),
    quick: Quick = False,
) -> None:
    """Compare how well tools find wrong labels.

    The clean labels are known, but no tool sees them.
    """
    problems = choice.problems(data_dir, quick=quick)
    for each in set(setting.chosen) - set(TRAININGS):
        raise unknown("training", each, TRAININGS)
    if quick and setting.epochs is None:
        setting = replace(setting, epochs=2)
    content = compare_tools(problems, setting, out, quick=quick)
    print_results(content)
    if any(row["failures"] for row in content["rows"]):
        raise typer.Exit(1)
