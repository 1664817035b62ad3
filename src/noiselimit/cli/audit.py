"""noiselimit audit."""

import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.cli.errors import holds_results, note_saved
from noiselimit.cli.options import (
    DATA,
    Compute,
    Config,
    Json,
    Quiet,
    Source,
    field_options,
    plan_options,
    several,
    with_options,
)
from noiselimit.cli.tables import plain_table, print_all, print_json
from noiselimit.data.reading import CACHE, Reading
from noiselimit.errors import InputError, unknown
from noiselimit.fields import option
from noiselimit.files import clear_leftovers, folder_lock, temporary_name
from noiselimit.progress import embedding_progress, print_notes, training_progress
from noiselimit.runs.spec import grid

if TYPE_CHECKING:
    from noiselimit.audit.issues import Audit
    from noiselimit.audit.saved import Origin
    from noiselimit.data.examples import DataSet


@dataclass(frozen=True)
class Task:
    """What an audit does with the data, and where its results go."""

    out: Path | None = option(
        None, "Folder to write.", metavar="FOLDER", shown="audit- and the name of the data"
    )
    task: str | None = option(
        None,
        "What the labels are: classification, or regression for numbers.",
        metavar="NAME",
        shown="recognised from the labels of a table",
    )
    many_classes: bool = option(False, "Accept fewer than ten examples per class.")
    fast: bool = option(False, "Train one run for fewer epochs: takes half the time, slightly less accurate.")
    expect_noise: float | None = option(None, "Flag the worst labels: this share of all.", metavar="SHARE")
    budget: int | None = option(None, "Flag the N worst labels.", metavar="N")
    min_quality: float | None = option(None, "Flag every label of quality below Q, in [0, 1].", metavar="Q")
    precision: float | None = option(
        None, "Flag as many labels as possible, of which this share should be wrong.", metavar="SHARE"
    )
    recall: float | None = option(
        None, "Flag as few labels as possible, with this share of the wrong ones.", metavar="SHARE"
    )
    write: Path | None = option(
        None,
        "Also write a corrected copy: a file, or for class folders a folder or a .csv list.",
        metavar="FILE",
    )
    fix: str | None = option(
        None, "Treatment of flagged rows in the copy: drop or relabel.", metavar="NAME", shown="drop"
    )
    overwrite: bool = option(False, "Replace an older audit and corrected copy.")
    noise: str | None = option(None, "For experiments: first add noise, such as uniform:0.2.", metavar="NAME")


@with_options(
    plan=plan_options(),
    compute=field_options(Compute, "device", "threads", "kernels", "graphs", "checkpoints"),
)
def audit(
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA)],
    task: Task,
    reading: Reading,
    source: Source,
    plan: dict[str, str],
    compute: Compute,
    config: Config = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Find label errors in your data.

    Trains on the data, estimates how many labels are wrong, and writes a table of all examples with the
    suspicious ones flagged, the class probabilities, and a page to review. The data are never changed.
    """
    from noiselimit.audit.fit import audit_data
    from noiselimit.audit.folder import save_audit
    from noiselimit.audit.issues import FlagRule
    from noiselimit.audit.report import summary_sentences

    folder = task.out or default_folder(data)
    settings = make_plan(task.fast, plan)
    rule = FlagRule(task.expect_noise, task.budget, task.min_quality, task.precision, task.recall)
    check_options(task, compute)
    check_paths(data, folder, task.write, overwrite=task.overwrite)
    how = dict(vars(compute))
    del how["threads_per_block"]
    with unfinished_folder(folder, overwrite=task.overwrite) as unfinished:
        reading = replace(
            reading, keep_unlabelled=True, task=task.task or "auto", cache=folder.resolve().parent / CACHE
        )
        examined, origin = _load(data, task, reading, source, settings, compute, quiet)
        with training_progress(quiet) as progress:
            found, fitted = audit_data(examined, settings, rule, out=unfinished, progress=progress, **how)
        answer = save_audit(folder, found, fitted, examined, origin, overwrite=task.overwrite)
        sentences = [*summary_sentences(found, examined), *(caution(found) if task.write else ())]
        try:
            cleaned = _write_copy(task, folder)
        except BaseException:  # the audit is complete, so its result is printed
            _print_result(as_json, answer, sentences, None)
            raise
    # The runs are deleted before anything is printed: the reader of a pipe may end early.
    _print_result(as_json, answer, sentences, cleaned)
    return 1 if any(run.failed for run in fitted.runs) else 0


def make_plan(fast: bool, typed: Mapping[str, str]) -> AuditPlan:
    """Return the default or the fast plan, with its values replaced by the typed ones."""
    names = {each.metadata.get("name", each.name): each for each in fields(AuditPlan)}
    listed = {name for name, each in names.items() if str(each.type).startswith("tuple")}
    # A grid checks and converts the values.
    choices = {name: several(name, text) if name in listed else text for name, text in typed.items()}
    specs = grid(method="limit-l", **choices)
    found: dict[str, Any] = {}
    for name in typed:
        values = tuple(dict.fromkeys({**vars(spec), **spec.hyper}[name] for spec in specs))
        if fast and len(values) > 1:
            raise InputError(f"--fast trains one run, but --{name} has {len(values)} values: give one.")
        found[names[name].name] = values if name in listed else values[0]
    return replace(FAST if fast else DEFAULT, **found)


def default_folder(source: str) -> Path:
    """`audit-digits` for digits, `audit-customers` for data/customers.csv, `audit-photos` for photos/."""
    from noiselimit.data.shards import is_pattern

    path = Path(source)
    path = path.parent if is_pattern(path) else path
    name = path.resolve().name if path.is_dir() else path.stem
    return Path(f"audit-{name or 'data'}")


def check_options(task: Task, compute: Compute) -> None:
    """Report mistakes before anything large is read."""
    from noiselimit.noise import parse_noise

    if task.noise is not None:
        parse_noise(task.noise)
        if task.write is not None:
            raise InputError("--noise adds label errors that --write would copy: leave out one of them.")
    if task.fix is not None and task.fix not in ("drop", "relabel"):
        raise unknown("fix", task.fix, ("drop", "relabel"))
    if task.fix is not None and task.write is None:
        raise InputError(f"--fix {task.fix} needs a file for the corrected copy: add --write FILE.")
    if task.task not in (None, "classification", "regression"):
        raise unknown("task", task.task, ("classification", "regression"))
    compute.check()


def check_paths(source: str, out: Path, write: Path | None, *, overwrite: bool) -> None:
    """Refuse paths where the audit or the corrected copy cannot be written, or would change the data."""
    from noiselimit.audit.fixes import NO_COPY, check_target
    from noiselimit.data.catalogue import DATA_SETS

    def is_inside(path: Path, folder: Path) -> bool:
        return path.resolve().is_relative_to(folder.resolve())

    data = None if source in DATA_SETS else Path(source)
    if data is not None and (is_inside(out, data) or is_inside(data, out)):
        raise InputError(f"{out} and the data contain each other: name another --out.")
    if write is None:
        return
    if is_inside(write, out):
        raise InputError(f"{write} is inside {out}, which holds the audit only: name another --write.")
    if data is None:
        raise InputError(f"--write: {NO_COPY.format(source)}")
    check_target(data, write, overwrite=overwrite)


@contextmanager
def unfinished_folder(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield the folder for the runs of an audit, which is kept until the audit is written.

    Meanwhile, no other process can write the same audit.
    """
    from noiselimit.audit.folder import check_audit_folder

    place = folder.resolve()
    unfinished = place.with_name(f".{place.name}.unfinished")
    with folder_lock(folder, place.with_name(f".{place.name}.lock")):
        clear_leftovers(place.parent, re.escape(place.name))
        both_exist = unfinished.exists() and place.exists()
        if both_exist and not overwrite and unfinished.stat().st_mtime_ns <= place.stat().st_mtime_ns:
            _delete(unfinished, place)  # killed after the audit was written
        check_audit_folder(folder, overwrite=overwrite)
        try:
            with note_saved(unfinished):
                yield unfinished
        except BaseException:
            if not holds_results(unfinished):
                shutil.rmtree(unfinished, ignore_errors=True)
            raise
        _delete(unfinished, place)


def _delete(unfinished: Path, audit: Path) -> None:
    """Delete the runs; a killed process leaves either all of them or a temporary folder."""
    if unfinished.exists():
        leftover = temporary_name(audit)
        unfinished.rename(leftover)
        shutil.rmtree(leftover, ignore_errors=True)


def _load(
    data: str,
    task: Task,
    reading: Reading,
    source: Source,
    plan: AuditPlan,
    compute: Compute,
    quiet: bool,
) -> "tuple[DataSet, Origin]":
    """The training part with the noise that the first run would add, as features if those are to be used."""
    from noiselimit.audit.diagnostics import check_data
    from noiselimit.audit.report import training_part
    from noiselimit.audit.saved import Origin
    from noiselimit.data.catalogue import load_data
    from noiselimit.features.pictures import PictureFeatures
    from noiselimit.noise import parse_noise

    features = PictureFeatures(reading.features, plan.network, compute.device, reading.resize)
    reading = replace(reading, features_side=features.side)
    with embedding_progress(quiet) as show:
        reading = replace(reading, progress=show)
        loaded = training_part(load_data(data, **source.arguments(quiet), reading=reading))
        found = loaded.examples.task.name
        if task.task not in (None, found):
            raise InputError(f"--task {task.task}: these labels are for {found}; only tables have others.")
        origin = Origin.of(data, loaded, reading, source.data_dir, task.noise)
        if task.noise is not None:
            seed = plan.seeds[0]
            note = f"{loaded.name}: noise {task.noise} was added to the labels (seed {seed})."
            noisy = parse_noise(task.noise).apply(loaded.examples, seed)
            loaded = replace(loaded, examples=noisy, notes=(*loaded.notes, note))
        loaded = check_data(loaded, many_classes=task.many_classes)
        print_notes(loaded.notes)
        examined = features.apply(loaded, cache=reading.cache, threads=compute.threads, progress=show)
    print_notes(examined.notes[len(loaded.notes) :])
    return examined, origin


def _write_copy(task: Task, folder: Path) -> dict[str, Any] | None:
    """Write the corrected copy, if there is to be one; return its path and what happened to the rows."""
    from noiselimit.audit.folder import open_audit

    if task.write is None:
        return None
    fix = task.fix or "drop"
    done = open_audit(folder).apply(task.write, fix=fix, overwrite=task.overwrite)
    return {"file": str(task.write), "fix": fix, **done}


def caution(audit: "Audit") -> list[str]:
    """A sentence if most of the flagged labels may be right."""
    low = round(audit.noise_rate.interval[0] * audit.noise_rate.examples)
    if audit.warning is not None or str(audit.rule) or low >= audit.flagged / 2:
        return []
    labels = "1 label" if low == 1 else f"{low:,} labels"
    remedy = "review the flagged labels before you use the copy, or set --budget"
    return [f"As few as {labels} may be wrong: {remedy}."]


def _print_result(
    as_json: bool,
    answer: Mapping[str, Any],
    sentences: Sequence[str],
    cleaned: Mapping[str, Any] | None,
) -> None:
    for run in answer["runs"]:
        if run["failure"] is not None:
            name = f"{run['method']}, β {run['beta']:g}, seed {run['seed']}"
            print(f"failed: {name}: {run['failure']}.", file=sys.stderr)
    if as_json:
        print_json({**answer, "cleaned": cleaned})
        return
    _print_answer(answer, sentences)
    if cleaned is not None:
        done = "dropped" if cleaned["fix"] == "drop" else "relabelled"
        print(f"Corrected copy: {cleaned['file']} ({cleaned['rows']:,} rows, {cleaned[done]:,} {done})")
    csv, parts = answer["label_issues_csv"], f"{answer['label_issues']} (a part for each file of the data)"
    tables = parts if csv is None else f"{csv} and .parquet"
    probabilities = f"; probabilities: {answer['pred_probs']}" if answer["pred_probs"] else ""
    print(f"All labels: {tables}{probabilities}")
    print(f"Report: {answer['report']}")
    print(f"Decide about the labels: noiselimit review {quote(str(Path(answer['report']).parent))} --open")


def _print_answer(answer: Mapping[str, Any], sentences: Sequence[str]) -> None:
    from rich.text import Text

    from noiselimit.report.content import likelihood

    def short(text: str) -> str:
        return text if len(text) <= 100 else f"{text[:100]}…"

    worst = answer["worst"]
    mixed = len({each["is_label_issue"] for each in worst}) > 1
    rows = [
        (
            short(str(each.get("path", each["row"]))),
            short(each["given_label"]),
            short(each["suggested_label"])
            + (f" ({each['low']:.6g} to {each['high']:.6g})" if "low" in each else ""),
            likelihood(each["error_probability"]),
            "flagged" if mixed and each["is_label_issue"] else "",
        )
        for each in worst
    ]
    place = "image" if "path" in worst[0] else "row"
    table = plain_table([place, "given", "suggested", "wrong", ""], rows, left=3)
    print_all(Text(sentences[0], style="bold"), *sentences[1:])
    print()
    print_all(Text("Review these labels first", style="bold"), table)
    if answer["confusions"]:
        changes = [
            (short(each["given_label"]), short(each["right_label"]), f"{each['labels']:,.0f}")
            for each in answer["confusions"]
        ]
        print()
        table = plain_table(["given", "probably", "labels, about"], changes, left=2)
        print_all(Text("Frequent confusions", style="bold"), table)
    print()
