"""noiselimit audit."""

import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noiselimit.audit.folder import put_back
from noiselimit.cli.errors import read_config
from noiselimit.cli.options import (
    Checkpoints,
    CleanLabel,
    DataDir,
    Device,
    Download,
    Graphs,
    Ignore,
    Json,
    Kernels,
    Label,
    Quiet,
    Resize,
    SkipBadImages,
    Weight,
    numbers,
)
from noiselimit.cli.signals import Interrupted
from noiselimit.cli.tables import say
from noiselimit.errors import InputError, unknown
from noiselimit.files import clear_leftovers, file_lock, read_small_text, refuse_link, write_json

if TYPE_CHECKING:
    from noiselimit.audit.issues import Audit
    from noiselimit.data.examples import DataSet

if TYPE_CHECKING:
    from noiselimit.data.examples import DataSet
    from noiselimit.noise import Noise


def with_noise(data: "DataSet", text: str, noise: "Noise", seed: int) -> "DataSet":
    """The data with noise added to the labels, to try an audit where the right ones are known; with a note.

    The labels are those that a run with this noise and seed would see, so that everything after this works
    on them as on anybody's labels, and no run adds noise of its own.
    """
    note = f"{data.name}: noise {text} was added to the labels (seed {seed})."
    return replace(data, examples=noise.apply(data.examples, seed), notes=(*data.notes, note))


def write_copy(
    source: Path,
    target: Path,
    fix: str | None,
    audit: "Audit",
    data: "DataSet",
    label: str | None,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    """The cleaned copy; returns where it is and what became of the rows."""
    from noiselimit.audit.fixes import Fix, write_cleaned

    how: Fix = "relabel" if fix == "relabel" else "drop"
    done = write_cleaned(source, target, audit, how, data=data, label=label, overwrite=overwrite)
    return {"file": str(target), "fix": how, **vars(done)}


def usual_folder(source: str) -> Path:
    """`audit-digits` for digits, `audit-customers` for data/customers.csv, `audit-photos` for photos/."""
    path = Path(source)
    name = path.resolve().name if path.is_dir() else path.stem
    return Path(f"audit-{name or 'data'}")


def check_places(source: str, out: Path, write: Path | None, fix: str | None, *, overwrite: bool) -> None:
    """Complain where the audit or the cleaned copy may not be written; the source is never written to."""
    from noiselimit.audit.folder import check_audit_folder

    given = _path_of(source)
    if given is not None and _is_inside(out, given):
        raise InputError(f"{out}: this is inside the data, which are never changed; name another --out.")
    if given is not None and _is_inside(given, out):
        raise InputError(f"{out}: this holds the data, which are never changed; name another --out.")
    check_audit_folder(out, overwrite=overwrite)
    _require_writable(out)
    if fix is not None and fix not in ("drop", "relabel"):
        raise unknown("fix", fix, ("drop", "relabel"))
    if fix is not None and write is None:
        raise InputError(f"fix is {fix}, but no cleaned copy is asked for: add --write FILE.")
    if write is not None:
        _check_cleaned(source, given, write, out, overwrite=overwrite)


def _path_of(source: str) -> Path | None:
    """The user's own file or folder; None for a named data set."""
    from noiselimit.data.catalogue import DATA_SETS

    return None if source in DATA_SETS else Path(source)


def _check_cleaned(source: str, given: Path | None, write: Path, out: Path, *, overwrite: bool) -> None:
    from noiselimit.audit.fixes import check_cleaned_target
    from noiselimit.data.mnist import holds_idx

    if given is None or (given.is_dir() and holds_idx(given)):
        raise InputError(
            f"{source}: these data are neither a table, an .npz file nor class folders, so there is nothing "
            "to write a cleaned copy of; leave out --write."
        )
    if _is_inside(write, out):
        raise InputError(
            f"{write}: this is inside {out}, which holds the audit alone; name another place for --write."
        )
    check_cleaned_target(given, write, overwrite=overwrite)
    if write.is_dir():
        raise InputError(f"{write}: this is a folder; name a file for --write.")
    _require_writable(write)


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _require_writable(path: Path) -> None:
    """Without making anything: the nearest folder above that is there must take new files."""
    above = next(parent for parent in path.resolve().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        reason = "a folder that takes no new files" if above.is_dir() else "no folder"
        raise InputError(f"{path}: {above} is {reason}; name another place.")


if TYPE_CHECKING:
    from noiselimit.audit.issues import FlagRule
    from noiselimit.audit.plan import AuditPlan


PLURALS = {"beta": "betas", "seed": "seeds"}
"""Options that take several values, and what a plan calls these."""


def make_plan(fast: bool, **typed: str | None) -> "AuditPlan":
    """The usual plan, or the fast one, with what was `typed` in its place: fields of a run, or β."""
    from dataclasses import replace

    from noiselimit.audit.plan import DEFAULT, FAST
    from noiselimit.cli.options import several
    from noiselimit.runs.spec import grid

    given = {name: text for name, text in typed.items() if text is not None}
    # A grid checks and converts them.
    specs = grid(
        method=DEFAULT.recipes.simple.candidates[0].method,
        **{name: several(name, text) if name in PLURALS else text for name, text in given.items()},
    )
    found: dict[str, Any] = {}
    for name in given:
        values = tuple(
            dict.fromkeys(spec.hyper[name] if name in spec.hyper else getattr(spec, name) for spec in specs)
        )
        if name in PLURALS:
            found[PLURALS[name]] = values
            if fast and len(values) > 1:
                raise InputError(
                    f"--fast trains once, but --{name} has {len(values)} values: give one of them."
                )
        else:
            found[name] = values[0]
    return replace(FAST if fast else DEFAULT, **found)


def make_flag_rule(
    expect_noise: float | None, budget: int | None, min_quality: float | None
) -> "tuple[FlagRule, str]":
    """How many labels are to be flagged, and that in words; empty words where the estimate decides."""
    from noiselimit.audit.issues import FlagRule

    given = {"--expect-noise": expect_noise, "--budget": budget, "--min-quality": min_quality}
    said = [option for option, value in given.items() if value is not None]
    if len(said) > 1:
        raise InputError(f"{' and '.join(said)} each say how many labels to flag: give one of them.")
    return FlagRule(expect_noise, budget, min_quality), " ".join(
        f"{name} {given[name]:.15g}" for name in said
    )


if TYPE_CHECKING:
    from rich.table import Table

LONGEST_NAME = 40


def print_answer(answer: Mapping[str, Any], sentences: Sequence[str]) -> None:
    """The sentences, the first being the one that counts, then tables."""
    from rich.text import Text

    say(Text(sentences[0], style="bold"), *sentences[1:])
    print()
    say(Text("The labels to look at first", style="bold"), _print_worst(answer["worst"]))
    if answer["confusions"]:
        heading = Text("Classes that are often mistaken for others", style="bold")
        print()
        say(heading, _print_confusions(answer["confusions"]))
    print()


def print_places(written: Mapping[str, str], cleaned: Mapping[str, Any] | None) -> None:
    """Where everything is; the page last, for that is what to open."""
    if cleaned is not None:
        relabelled = f"{cleaned['relabelled']:,} with the suggested label"
        did = f"{cleaned['dropped']:,} dropped" if cleaned["fix"] == "drop" else relabelled
        print(f"Cleaned copy: {cleaned['file']} ({cleaned['rows']:,} rows, {did})")
    print(f"All labels: {written['label_issues_csv']} and .parquet; probabilities: {written['pred_probs']}")
    print(f"Look at {written['report']}")


def print_failures(answer: Mapping[str, Any]) -> None:
    """Runs that broke down, on stderr: the audit goes on without them."""
    for run in answer["runs"]:
        if run["failure"] is not None:
            print(f"failed: β {run['beta']:g}, seed {run['seed']}: {run['failure']}.", file=sys.stderr)


def plain(text: str) -> str:
    """Text from data on one line, with nothing in it that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _print_worst(rows: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    paths = any("path" in row for row in rows)
    table.add_column("picture" if paths else "row", justify="left" if paths else "right")
    for name in ("given", "suggested"):
        table.add_column(name)
    table.add_column("quality", justify="right")
    mixed = len({row["is_label_issue"] for row in rows}) > 1
    if mixed:
        table.add_column("")
    for row in rows:
        table.add_row(
            Text(plain(str(row.get("path", row["row"])))),
            *(Text(_short(row[name])) for name in ("given_label", "suggested_label")),
            quality(row["label_quality"]),
            *(["flagged" if row["is_label_issue"] else ""] if mixed else []),
        )
    return table


def quality(value: float) -> str:
    """0.123, and of what would round to nothing the size: the worst labels differ in that alone."""
    return f"{value:.3f}" if value >= 0.0005 or value == 0 else f"{value:.0e}"


def _print_confusions(found: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("given", "probably"):
        table.add_column(name)
    table.add_column("labels, about", justify="right")
    for one in found:
        names = (Text(_short(one[name])) for name in ("given_label", "right_label"))
        table.add_row(*names, f"{one['labels']:,.0f}")
    return table


def _short(name: str) -> str:
    text = plain(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


WRITING = ".writing.json"
"""The options of a command that has begun to write its audit, which it may replace when it goes on."""
_ALIKE = {"threads", "checkpoints", "overwrite", "as_json", "quiet"}
"""Options by which the same audit may be asked for differently."""


@contextmanager
def unfinished_folder(folder: Path) -> Iterator[Path]:
    """Yield where to keep the runs of an audit in `folder`; it stays only where there is work to save.

    Meanwhile no other audit writes the same folder.
    """
    place, unfinished = _places(folder)
    with _held(place, folder):
        refuse_link(unfinished)
        try:
            yield unfinished
        except KeyboardInterrupt:
            done = "the audit was being" if (unfinished / WRITING).exists() else "no audit was"
            then = "goes on" if _tidied(unfinished) else "begins anew"
            raise Interrupted(f"{done} written, and the same command {then}") from None
        except BaseException:
            _tidied(unfinished)
            raise
        _remove(unfinished, place)
        clear_leftovers(place.parent, re.escape(place.name))


def begin_to_write(unfinished: Path, options: Mapping[str, Any]) -> None:
    """Note that this command may write its audit from now on, and write it again should it be killed."""
    write_json(unfinished / WRITING, _text(options))


def has_begun_to_write(folder: Path, options: Mapping[str, Any]) -> bool:
    """Whether this very command was killed while it wrote its audit, or just after.

    An older audit that one was about to replace is put back; one that was killed when it had done everything
    is only tidied up after.
    """
    place, unfinished = _places(folder)
    if _has_company(place):
        with _held(place, folder):
            put_back(place)
            if place.is_dir():
                clear_leftovers(place.parent, re.escape(place.name))
    return place.is_dir() and is_noted(unfinished, options)


def is_noted(unfinished: Path, options: Mapping[str, Any]) -> bool:
    """Whether this command is the one that began to write; a file that says anything else says nothing."""
    try:
        return bool(json.loads(read_small_text(unfinished / WRITING)) == _text(options))
    except (OSError, ValueError, RecursionError):
        return False


@contextmanager
def _held(place: Path, called: Path) -> Iterator[None]:
    """Keep other audits from `place`, by a lock that lies outside of all that is moved."""
    with file_lock(place, called=called, remedy="choose another folder"):
        yield


def _has_company(place: Path) -> bool:
    """Whether something lies beside it that an audit of it may have left."""
    try:
        return any(entry.name.startswith(f".{place.name}.") for entry in place.parent.iterdir())
    except OSError:
        return False


def _places(folder: Path) -> tuple[Path, Path]:
    """Of the audit, and of what is kept until it is written."""
    place = folder.resolve()
    return place, place.with_name(f".{place.name}.unfinished")


def _text(options: Mapping[str, Any]) -> dict[str, str]:
    """What tells commands apart."""
    return {name: str(value) for name, value in sorted(options.items()) if name not in _ALIKE}


def _remove(unfinished: Path, place: Path) -> None:
    """All at once, so that nobody who is killed meanwhile leaves half a run for the next."""
    with suppress(OSError):
        unfinished.rename(place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp"))


def _tidied(unfinished: Path) -> bool:
    """Whether something in it is worth keeping; it is removed if not."""
    worth = any(unfinished.glob(".checkpoints/*.safetensors")) or any(
        _succeeded(metrics) for metrics in unfinished.glob("*/metrics.json")
    )
    if not worth:
        shutil.rmtree(unfinished, ignore_errors=True)
    return worth


def _succeeded(metrics: Path) -> bool:
    try:
        return bool(json.loads(read_small_text(metrics))["failure"] is None)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def audit(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Class folders of pictures; a .csv, .tsv, .parquet or .npz file; or a named data set.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder to write. [default: audit- and the name of the data]"),
    ] = None,
    label: Label = None,
    clean_label: CleanLabel = None,
    weight: Weight = None,
    ignore: Ignore = None,
    data_dir: DataDir = None,
    download: Download = False,
    resize: Resize = None,
    skip_bad_images: SkipBadImages = False,
    many_classes: Annotated[
        bool, typer.Option("--many-classes", help="There really are fewer than ten examples a class.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Train one β and one seed: half the time, a little less found.")
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
        Path | None,
        typer.Option(metavar="FILE", help="Write a cleaned copy as well; of pictures, a CSV of paths."),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What the copy does with flagged rows: drop or relabel. [default: drop]"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an older audit and an older cleaned copy.")
    ] = False,
    noise: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="To try it out: first make labels wrong, as in uniform:0.2."),
    ] = None,
    beta: Annotated[str | None, numbers("Weight of the gradient penalty. [default: by network]")] = None,
    seed: Annotated[str | None, numbers("A training for each; more are steadier. [default: 0]")] = None,
    epochs: Annotated[
        str | None, typer.Option(metavar="N", help="Passes over the data. [default: by their number]")
    ] = None,
    batch_size: Annotated[
        str | None, typer.Option(metavar="N", help="Examples per step. [default: by their number]")
    ] = None,
    learning_rate: Annotated[
        str | None, typer.Option(metavar="N", help="Learning rate of both networks. [default: 0.001]")
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Such as small-cnn or resnet-18, or package.module:factory. [default: auto]"
        ),
    ] = None,
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(metavar="N", help="CPU threads. [default: all cores]")
    ] = None,
    kernels: Kernels = "auto",
    graphs: Graphs = "auto",
    checkpoints: Checkpoints = "auto",
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=read_config,
            is_eager=True,
            help="TOML file with the same options; flags win.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Find the wrong labels in anybody's data.

    Trains on the data, wrong labels and all, says how many labels are wrong, and writes a table of all
    examples with the suspicious ones flagged, the probabilities that it rests on, and a page to look at. The
    data are never changed.
    """
    import json

    from noiselimit.audit.diagnostics import check_data
    from noiselimit.audit.fit import audit_data
    from noiselimit.audit.summary import make_summary, save_audit, summary_sentences, training_part
    from noiselimit.cli.options import columns
    from noiselimit.cli.progress import download_news, print_notes, training_news
    from noiselimit.data.catalogue import load_data
    from noiselimit.data.reading import Reading
    from noiselimit.data.table_file import require_label
    from noiselimit.engine.backend import find_backend, find_device
    from noiselimit.engine.checkpoints import parse_interval
    from noiselimit.errors import InputError
    from noiselimit.noise import parse_noise

    # What is typed wrong, and places that cannot be written to, are told before anything large is read.
    folder = usual_folder(data) if out is None else out
    plan = make_plan(
        fast,
        beta=beta,
        seed=seed,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        network=network,
    )
    rule, asked = make_flag_rule(expect_noise, budget, min_quality)
    added = None if noise is None else parse_noise(noise)
    if added is not None and write is not None:
        raise InputError("--noise makes labels wrong that --write would copy: leave out one of them.")
    require_label(Path(data), label)  # before its folder: that may be of the same command, typed right
    overwrite = overwrite or has_begun_to_write(folder, context.params)
    check_places(data, folder, write, fix, overwrite=overwrite)
    find_backend(kernels, graphs, find_device(device))  # says what is not there
    parse_interval(checkpoints)
    left_out = columns("--ignore", ignore)
    reading = Reading(
        label, clean_label, weight, resize, skip_bad_images, keep_unlabelled=True, ignore=left_out
    )
    with unfinished_folder(folder) as unfinished:
        examined = training_part(load_data(data, data_dir, download, download_news(quiet), reading))
        if noise is not None and added is not None:
            examined = with_noise(examined, noise, added, plan.seeds[0])
        examined = check_data(examined, many_classes=many_classes)
        print_notes(examined)
        with training_news(quiet) as progress:
            found, fitted = audit_data(
                examined,
                plan,
                rule,
                many_classes=many_classes,
                out=unfinished,
                device=device,
                threads=threads,
                kernels=kernels,
                graphs=graphs,
                checkpoints=checkpoints,
                progress=progress,
            )
        begin_to_write(unfinished, context.params)
        written = save_audit(folder, found, fitted, examined, asked, overwrite=overwrite)
        answer = make_summary(found, fitted, examined)
        print_failures(answer)
        if not as_json:
            print_answer(answer, summary_sentences(found, examined, asked))
        cleaned = None
        if write is not None:
            if as_json and found.flags_withheld:  # it is refused, but what was found is told all the same
                print(json.dumps({**answer, **written, "cleaned": None}, indent=2))
            cleaned = write_copy(Path(data), write, fix, found, examined, label, overwrite=overwrite)
    if as_json:
        print(json.dumps({**answer, **written, "cleaned": cleaned}, indent=2))
    else:
        print_places(written, cleaned)
    return 1 if any(run.failed for run in fitted.runs) else 0
