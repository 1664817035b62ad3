"""Decisions about labels as files, in the formats of other tools: what can be exported and imported."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from noiselimit.audit.decisions import Decision, Decisions
from noiselimit.audit.saved import MADE, SavedAudit
from noiselimit.data.reading import readable
from noiselimit.data.table_file import read_parquet, separator
from noiselimit.errors import InputError, unknown
from noiselimit.files import atomic_file, atomic_folder, finite_json, json_text, read_bytes

REMEDY = "give a file of decisions as noiselimit exports it"
LABEL, ACTION, EXAMPLE = "label", "action", "example"
"""Names of the two choices and of the object in a Label Studio project."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """A kind of file, or of folder, which has no ending."""

    ending: str
    write: Callable[[pd.DataFrame, SavedAudit, Path], None]
    read: Callable[[Path], list[Record]] | None = None
    """One record per decision; None if it can be exported only."""


def export_decisions(
    saved: SavedAudit,
    target: Path,
    *,
    format: str | None = None,
    conflicts: str = "last",
    flagged: bool = False,
    overwrite: bool = False,
) -> int:
    """Write the decisions of a review to a file; return how many rows it holds.

    `format` is a key of FORMATS, by default the first with the target's ending. With `flagged`, flagged rows
    without a decision are written, too.
    """
    chosen = _format_of(target, format)
    if target.resolve().is_relative_to(saved.folder):
        raise InputError(f"{target} is inside {saved.folder}, which holds the audit only: name another.")
    if target.is_dir() or (target.exists() and not (chosen.ending and overwrite)):
        raise InputError(f"{target} exists: name another place; --overwrite replaces files only.")
    frame = saved.decided_rows(conflicts, flagged=flagged)
    if frame.empty:
        raise InputError(f"{saved.folder} holds no decisions: review it first, or add --flagged.")
    with (atomic_file if chosen.ending else atomic_folder)(target.resolve()) as temporary:
        chosen.write(frame, saved, temporary)
    return len(frame)


def read_decisions(source: Path | str | pd.DataFrame, saved: SavedAudit) -> pd.DataFrame:
    """Decisions [m] that were made elsewhere: columns row, action, label, reviewer and note.

    A record of the file, or a row of the frame, names its example by `row`, `path` or another column of the
    audit's table with distinct values. It has a `label`, an `action`, or both: without an action, another
    label than the given one means relabel. Records without either are passed over. Of several for one row,
    the last counts.
    """
    found = {made.row: (made, reviewer) for made, reviewer in _find_decisions(source, saved)}
    lines = [(made.row, made.action, made.label, reviewer, made.note) for made, reviewer in found.values()]
    columns = ["row", "action", "label", "reviewer", "note"]
    return pd.DataFrame(lines, columns=columns, dtype=object).astype({"row": "int64"})


def import_decisions(saved: SavedAudit, path: Path, *, format: str | None = None, reviewer: str = "") -> int:
    """Add decisions from a file to those of the review; return how many. They can be undone there."""
    found = _find_decisions(path, saved, format)
    by_reviewer: dict[str, list[Decision]] = {}
    for made, name in found:
        by_reviewer.setdefault(name or reviewer or path.stem, []).append(made)
    review = Decisions(saved.folder)
    try:
        for name, own in by_reviewer.items():
            review.add(own, name)
    finally:
        review.close()
    return len(found)


def _find_decisions(
    source: Path | str | pd.DataFrame, saved: SavedAudit, format: str | None = None
) -> list[tuple[Decision, str]]:
    """Checked decisions, each with its reviewer: the last of each reviewer about a row."""
    if isinstance(source, pd.DataFrame):
        return _check_records(_as_records(source), saved, "decisions")
    path = Path(source)
    chosen = _format_of(path, format)
    if chosen.read is None:
        raise InputError(f"{path}: this format can be exported only; give {', '.join(READABLE)}.")
    with readable(path, REMEDY):
        records = chosen.read(path)
    return _check_records(records, saved, str(path))


def _check_records(records: list[Record], saved: SavedAudit, source: str) -> list[tuple[Decision, str]]:
    codes, known = saved.given, set(saved.class_names)
    column, rows = _rows_by_name(records, saved, source)
    found: dict[tuple[int, str], tuple[Decision, str]] = {}
    for number, record in enumerate(records):
        action, label, note, reviewer = (
            _text(record.get(name)) for name in ("action", "label", "note", "reviewer")
        )
        if not action and not label:
            continue
        try:
            row = rows.get(_text(record.get(column)))
            if row is None:
                raise InputError(f"the audit has no {column} '{record.get(column)}'; correct it.")
            given = saved.class_names[codes[row]] if codes[row] >= 0 else None
            if label not in known:
                label = label.removesuffix(".0")  # a table of numbers, some of which are missing
            action = action or ("keep" if label == given else "relabel")
            if action == "relabel":
                saved.require_label(label)
            found.pop((row, reviewer), None)
            made = Decision(row, action, label if action == "relabel" else None, given, note)
        except InputError as error:
            raise InputError(f"{source}: record {number}: {error}") from None
        found[row, reviewer] = made, reviewer
    return list(found.values())


def _format_of(path: Path, name: str | None) -> Format:
    ending = path.suffix.lower()
    usual = next((key for key, each in FORMATS.items() if each.ending == ending), ending)
    if (name or usual) not in FORMATS:
        raise unknown("format", name or ending, FORMATS)
    return FORMATS[name or usual]


def _rows_by_name(records: list[Record], saved: SavedAudit, source: str) -> tuple[str, dict[str, int]]:
    """The column that names the examples, and the row of each name."""
    table, names = saved.table, {name for record in records for name in record}
    keys = [name for name in table if name in names and table[name].is_unique and name not in MADE]
    column = next((name for name in ("row", "path", *keys) if name in names and name in table), "row")
    if column not in names and records:
        raise InputError(f"{source}: no column names the rows; add 'row', the position in the data from 0.")
    return column, {_text(value): row for row, value in enumerate(table[column].tolist())}


def _text(value: Any) -> str:
    """A value of any format as text: None and NaN become empty, 3.0 becomes 3."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# Formats


def _read_csv(path: Path) -> list[Record]:
    how: dict[str, Any] = {"dtype": str, "na_filter": False, "encoding": "utf-8-sig"}
    return _as_records(pd.read_csv(path, sep=separator(path), **how))


def _as_records(frame: pd.DataFrame) -> list[Record]:
    return [{str(name): value for name, value in record.items()} for record in frame.to_dict("records")]


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(MADE, "str"))


def _records(frame: pd.DataFrame) -> Iterator[Record]:
    for record in _as_records(frame):
        yield json.loads(json.dumps(record, default=str))


def _write_jsonl(frame: pd.DataFrame, saved: SavedAudit, target: Path) -> None:
    with target.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in _records(frame))


def _read_jsonl(path: Path) -> list[Record]:
    lines = read_bytes(path).decode("utf-8-sig").split("\n")
    return [dict(finite_json(line)) for line in lines if line.strip()]


def _write_datasets(frame: pd.DataFrame, saved: SavedAudit, target: Path) -> None:
    if find_spec("datasets") is None:
        raise InputError("Hugging Face datasets is not installed: run `pip install datasets`.")
    import datasets  # type: ignore[import-untyped]

    datasets.Dataset.from_pandas(_typed(frame), preserve_index=False).save_to_disk(str(target))


def _write_coco(frame: pd.DataFrame, saved: SavedAudit, target: Path) -> None:
    """Images and one annotation of the whole image for each, as in COCO; the class is the decided one."""
    if "path" not in frame:
        raise InputError(f"{saved.folder}: COCO is for images; use another format.")
    numbers = {name: number for number, name in enumerate(saved.class_names)}
    images, annotations = [], []
    for record in _records(frame):
        images.append({"id": record["row"], "file_name": record.pop("path")})
        label = record["label"] if record["action"] == "relabel" else record["given_label"]
        line = {"id": record["row"], "image_id": record.pop("row"), "category_id": numbers.get(label)}
        annotations.append({**line, "attributes": record})
    categories = [{"id": number, "name": name} for name, number in numbers.items()]
    content = {"images": images, "annotations": annotations, "categories": categories}
    target.write_text(json_text(content), "utf-8")


def _write_label_studio(frame: pd.DataFrame, saved: SavedAudit, target: Path) -> None:
    """Tasks for Label Studio: the suggestion is a prediction, the decision an annotation."""

    def choice(name: str, value: str) -> Record:
        return {"from_name": name, "to_name": EXAMPLE, "type": "choices", "value": {"choices": [value]}}

    tasks = []
    for record in _records(frame):
        made = {name: record.pop(name) for name in MADE}
        suggested = [choice(LABEL, record["suggested_label"])]
        prediction = {"result": suggested, "score": record["error_probability"]}
        task: Record = {"data": record, "predictions": [prediction]}
        if made["action"]:
            label = made["label"] if made["action"] == "relabel" else record["given_label"]
            result = [choice(LABEL, label)] if label else []
            task["annotations"] = [{"result": [*result, choice(ACTION, made["action"])]}]
            task["meta"] = {name: made[name] for name in ("reviewer", "time", "note")}
        tasks.append(task)
    target.write_text(json_text(tasks), "utf-8")


def _read_label_studio(path: Path) -> list[Record]:
    records = []
    for task in finite_json(read_bytes(path).decode("utf-8-sig")):
        for made in task.get("annotations", ()):
            choices = {
                each["from_name"]: each["value"]["choices"][0]
                for each in made["result"]
                if each["type"] == "choices" and each["value"]["choices"]
            }
            action = choices.pop(ACTION, None) or ("unsure" if made.get("was_cancelled") else None)
            label = None if action in ("drop", "unsure") else next(iter(choices.values()), None)
            about = {name: value for name, value in task.get("meta", {}).items() if name in MADE}
            person = made.get("completed_by", "")
            about.setdefault("reviewer", person.get("email") if isinstance(person, dict) else person)
            records.append({**task["data"], **about, "action": action, "label": label})
    return records


FORMATS = {
    "csv": Format(
        ".csv", lambda frame, _, target: frame.to_csv(target, index=False, lineterminator="\n"), _read_csv
    ),
    "parquet": Format(
        ".parquet",
        lambda frame, _, target: _typed(frame).to_parquet(target, index=False),
        lambda path: read_parquet(path).to_pylist(),
    ),
    "jsonl": Format(".jsonl", _write_jsonl, _read_jsonl),
    "label-studio": Format(".json", _write_label_studio, _read_label_studio),
    "coco": Format(".json", _write_coco),
    "datasets": Format("", _write_datasets),
}
READABLE = [name for name, each in FORMATS.items() if each.read is not None]
