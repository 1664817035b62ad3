"""noiselimit audit."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.cli.options import (
    Config,
    DataDir,
    Download,
    Json,
    Quiet,
    compute_options,
    path_option,
    plan_options,
    reading_options,
    several,
    with_options,
)
from noiselimit.cli.tables import plain_table, print_all
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError, unknown
from noiselimit.files import file_lock, read_small_text
from noiselimit.runs.spec import grid

if TYPE_CHECKING:
    from rich.table import Table

    from noiselimit.audit.issues import Audit
    from noiselimit.data.examples import DataSet

LONGEST_NAME = 40


@with_options(
    reading=reading_options(),
    plan=plan_options(),
    compute=compute_options("device", "threads", "kernels", "graphs", "checkpoints"),
)
def audit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Class folders of pictures; a .csv, .tsv, .parquet or .npz file; or a named data set.",
        ),
    ],
    *,
    out: Annotated[
        Path | None, path_option("FOLDER", "Folder to write. [default: audit- and the name of the data]")
    ] = None,
    reading: Reading,
    data_dir: DataDir = None,
    download: Download = False,
    many_classes: Annotated[
        bool, typer.Option("--many-classes", help="Accept fewer than ten examples per class.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Train one β and one seed: half the time, slightly less accurate.")
    ] = False,
    expect_noise: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Flag this share of the labels, the worst.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Flag the N worst labels: as many as you can review.")
    ] = None,
    min_quality: Annotated[
        float | None, typer.Option(metavar="Q", help="Flag every label of lower quality, in [0, 1].")
    ] = None,
    write: Annotated[
        Path | None, path_option("FILE", "Write a cleaned copy as well; of pictures, a CSV of paths.")
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the copy does with flagged rows: drop (default) or relabel."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an older audit and an older cleaned copy.")
    ] = False,
    noise: Annotated[
        str | None, typer.Option(metavar="NAME", help="For experiments: first add noise such as uniform:0.2.")
    ] = None,
    plan: dict[str, str],
    compute: dict[str, Any],
    config: Config = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Find label errors in your data.

    Trains on the data, estimates how many labels are wrong, and writes a table of all examples with the
    suspicious ones flagged, the class probabilities, and a page to review. The data are never changed.
    """
    from noiselimit.audit.fit import audit_data
    from noiselimit.audit.issues import FlagRule
    from noiselimit.audit.summary import make_summary, save_audit, summary_sentences
    from noiselimit.cli.progress import print_notes, training_progress

    folder = default_folder(data) if out is None else out
    settings = make_plan(fast, plan)
    rule = FlagRule(expect_noise, budget, min_quality)
    asked = " ".join(
        f"--{name.replace('_', '-')} {value:.15g}" for name, value in vars(rule).items() if value is not None
    )
    check_options(data, reading.label, noise, write, fix, compute)
    check_paths(data, folder, write, overwrite=overwrite)
    with unfinished_folder(folder) as unfinished:
        examined = _load(data, data_dir, download, quiet, reading)
        if noise is not None:
            examined = _with_noise(examined, noise, settings.seeds[0])
        how = {"many_classes": many_classes, "out": unfinished, **compute}
        examined = _checked(examined, many_classes)
        print_notes(examined.notes)
        with training_progress(quiet) as progress:
            found, fitted = audit_data(examined, settings, rule, progress=progress, **how)
        written = save_audit(folder, found, fitted, examined, asked, overwrite=overwrite)
        answer = make_summary(found, fitted, examined)
        cleaned = None
        try:  # whatever happens to the copy, the result is printed
            if write is not None:
                cleaned = _write_copy(Path(data), write, fix, found, examined, reading.label, overwrite)
        finally:
            _print_failures(answer)
            if as_json:
                print(json.dumps({**answer, **written, "cleaned": cleaned}, indent=2))
            else:
                _print_answer(answer, summary_sentences(found, examined, asked))
                _print_paths(written, cleaned)
    return 1 if any(run.failed for run in fitted.runs) else 0


def make_plan(fast: bool, typed: Mapping[str, str]) -> AuditPlan:
    """Return the default plan, or the fast one, with the typed values in place of its own."""
    names = {each.metadata.get("name", each.name): each for each in fields(AuditPlan)}
    listed = {name for name, each in names.items() if str(each.type).startswith("tuple")}
    # A grid checks and converts the values.
    method = DEFAULT.recipes.simple.candidates[0].method
    choices = {name: several(name, text) if name in listed else text for name, text in typed.items()}
    specs = grid(method=method, **choices)
    found: dict[str, Any] = {}
    for name in typed:
        values = tuple(dict.fromkeys({**vars(spec), **spec.hyper}[name] for spec in specs))
        if fast and len(values) > 1:
            raise InputError(f"--fast trains one run, but --{name} has {len(values)} values: give one.")
        found[names[name].name] = values if name in listed else values[0]
    return replace(FAST if fast else DEFAULT, **found)


def default_folder(source: str) -> Path:
    """`audit-digits` for digits, `audit-customers` for data/customers.csv, `audit-photos` for photos/."""
    path = Path(source)
    name = path.resolve().name if path.is_dir() else path.stem
    return Path(f"audit-{name or 'data'}")


def check_options(
    data: str,
    label: str | None,
    noise: str | None,
    write: Path | None,
    fix: str | None,
    compute: Mapping[str, Any],
) -> None:
    """Report mistakes before anything large is read."""
    from noiselimit.data.table_file import require_label
    from noiselimit.engine.backend import find_backend, find_device
    from noiselimit.engine.checkpoints import parse_interval
    from noiselimit.noise import parse_noise

    if noise is not None:
        parse_noise(noise)
        if write is not None:
            raise InputError("--noise adds label errors that --write would copy: leave out one of them.")
    if fix is not None and fix not in ("drop", "relabel"):
        raise unknown("fix", fix, ("drop", "relabel"))
    if fix is not None and write is None:
        raise InputError(f"--fix {fix} needs a file for the cleaned copy: add --write FILE.")
    require_label(Path(data), label)
    find_backend(compute["kernels"], compute["graphs"], find_device(compute["device"]))
    parse_interval(compute["checkpoints"])


def check_paths(source: str, out: Path, write: Path | None, *, overwrite: bool) -> None:
    """Refuse paths where the audit or the cleaned copy cannot be written, or would touch the data."""
    from noiselimit.audit.fixes import check_cleaned_target
    from noiselimit.audit.folder import check_audit_folder
    from noiselimit.data.catalogue import DATA_SETS
    from noiselimit.data.mnist import holds_idx

    data = None if source in DATA_SETS else Path(source)
    if data is not None and (_is_inside(out, data) or _is_inside(data, out)):
        raise InputError(f"{out} and the data contain each other: name another --out.")
    check_audit_folder(out, overwrite=overwrite)
    _require_writable(out)
    if write is None:
        return
    if data is None or (data.is_dir() and holds_idx(data)):
        raise InputError(f"{source}: --write copies tables, .npz files and class folders only; leave it out.")
    if _is_inside(write, out):
        raise InputError(f"{write} is inside {out}, which holds the audit only: name another --write.")
    check_cleaned_target(data, write, overwrite=overwrite)
    if write.is_dir():
        raise InputError(f"{write} is a folder: name a file for --write.")
    _require_writable(write)


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _require_writable(path: Path) -> None:
    """Check the nearest existing folder, without creating anything."""
    above = next(parent for parent in path.resolve().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "not writable" if above.is_dir() else "not a folder"
        raise InputError(f"{path}: {above} is {reason}; choose another place.")


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield the folder for the runs of an audit, which is kept until the audit is written.

    Meanwhile, no other process can write the same audit.
    """
    place = folder.resolve()
    unfinished = place.with_name(f".{place.name}.unfinished")
    with file_lock(place, called=folder, remedy="choose another folder"):
        try:
            yield unfinished
        except BaseException:
            if not _has_progress(unfinished):
                shutil.rmtree(unfinished, ignore_errors=True)
            raise
        shutil.rmtree(unfinished, ignore_errors=True)


def _has_progress(unfinished: Path) -> bool:
    """Whether there is a checkpoint or a run that did not fail."""
    if any(unfinished.glob(".checkpoints/*.safetensors")):
        return True
    metrics = (json.loads(read_small_text(path)) for path in unfinished.glob("*/metrics.json"))
    return any(each["failure"] is None for each in metrics)


def _load(data: str, data_dir: Path | None, download: bool, quiet: bool, reading: Reading) -> "DataSet":
    from noiselimit.audit.summary import training_part
    from noiselimit.cli.progress import download_progress
    from noiselimit.data.catalogue import load_data

    reading = replace(reading, keep_unlabelled=True)
    return training_part(load_data(data, data_dir, download, download_progress(quiet), reading))


def _with_noise(data: "DataSet", noise: str, seed: int) -> "DataSet":
    """Add the noise that a run with this seed would add."""
    from noiselimit.noise import parse_noise

    note = f"{data.name}: noise {noise} was added to the labels (seed {seed})."
    return replace(data, examples=parse_noise(noise).apply(data.examples, seed), notes=(*data.notes, note))


def _checked(data: "DataSet", many_classes: bool) -> "DataSet":
    from noiselimit.audit.diagnostics import check_data

    return check_data(data, many_classes=many_classes)


def _write_copy(
    source: Path,
    target: Path,
    fix: str | None,
    audit: "Audit",
    data: "DataSet",
    label: str | None,
    overwrite: bool,
) -> dict[str, Any]:
    """Write the cleaned copy; return its path and what happened to the rows."""
    from noiselimit.audit.fixes import Fix, write_cleaned

    how: Fix = "relabel" if fix == "relabel" else "drop"
    done = write_cleaned(source, target, audit, how, data=data, label=label, overwrite=overwrite)
    return {"file": str(target), "fix": how, **vars(done)}


def _print_answer(answer: Mapping[str, Any], sentences: Sequence[str]) -> None:
    from rich.text import Text

    print_all(Text(sentences[0], style="bold"), *sentences[1:])
    print()
    print_all(Text("Review these labels first", style="bold"), _worst_table(answer["worst"]))
    if answer["confusions"]:
        print()
        print_all(Text("Frequent confusions", style="bold"), _confusion_table(answer["confusions"]))
    print()


def _print_paths(written: Mapping[str, str], cleaned: Mapping[str, Any] | None) -> None:
    if cleaned is not None:
        done = "dropped" if cleaned["fix"] == "drop" else "relabelled"
        print(f"Cleaned copy: {cleaned['file']} ({cleaned['rows']:,} rows, {cleaned[done]:,} {done})")
    print(f"All labels: {written['label_issues_csv']} and .parquet; probabilities: {written['pred_probs']}")
    print(f"Report: {written['report']}")


def _print_failures(answer: Mapping[str, Any]) -> None:
    for run in answer["runs"]:
        if run["failure"] is not None:
            print(f"failed: β {run['beta']:g}, seed {run['seed']}: {run['failure']}.", file=sys.stderr)


def _worst_table(rows: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.text import Text

    paths = any("path" in row for row in rows)
    mixed = len({row["is_label_issue"] for row in rows}) > 1
    table = plain_table("picture" if paths else "row", left=int(paths))
    for name in ("given", "suggested"):
        table.add_column(name)
    table.add_column("quality", justify="right")
    if mixed:
        table.add_column("")
    for row in rows:
        table.add_row(
            Text(_printable(str(row.get("path", row["row"])))),
            *(Text(_short(row[name])) for name in ("given_label", "suggested_label")),
            format_quality(row["label_quality"]),
            *(["flagged" if row["is_label_issue"] else ""] if mixed else []),
        )
    return table


def _confusion_table(found: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.text import Text

    table = plain_table("given", "probably", "labels, about", left=2)
    for one in found:
        names = (Text(_short(one[name])) for name in ("given_label", "right_label"))
        table.add_row(*names, f"{one['labels']:,.0f}")
    return table


def format_quality(value: float) -> str:
    """0.123; with an exponent if that would be 0.000, because the worst labels differ there only."""
    return f"{value:.3f}" if value >= 0.0005 or value == 0 else f"{value:.0e}"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _short(name: str) -> str:
    text = _printable(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
