"""Files of decisions: every format comes back as it was, and bad files change nothing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from noiselimit.audit.decision_files import (
    FORMATS,
    export_decisions,
    import_decisions,
    read_decisions,
)
from noiselimit.audit.decisions import Decision, Decisions
from noiselimit.audit.saved import Origin, SavedAudit
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError

NAMES = ("7", "=cmd|' /C calc'!A0", '<b>é</b>, "x"\nNA')
GIVEN = [0, 1, 2, 0, 1, -1]
HOSTILE = ["a,b", '"c"', "new\nline", "<script>", "=1+1", "café"]


def made(folder: Path, paths: bool = True) -> SavedAudit:
    """An audit with hostile names, reviewed by two people."""
    folder.mkdir()
    table = pd.DataFrame({"is_label_issue": [True, True, False, True, False, False]})
    table["error_probability"] = np.linspace(0.1, 0.9, 6)
    table["given_label"] = pd.Categorical.from_codes(np.array(GIVEN), pd.Index(NAMES))
    table["predicted_label"] = pd.Categorical.from_codes(np.array([1, 2, 0, 1, 2, 0]), pd.Index(NAMES))
    table["row"] = np.arange(6)
    if paths:
        table["path"] = HOSTILE
    table["id_order"] = np.arange(100, 106)
    origin = Origin("pets", Reading(), "/nowhere")
    return SavedAudit(folder, table, np.eye(3), NAMES, {"warning": None}, origin)


@pytest.fixture
def reviewed(tmp_path: Path) -> SavedAudit:
    saved = made(tmp_path / "audit")
    review = Decisions(saved.folder)
    review.add([Decision(0, "relabel", NAMES[2], NAMES[0], 'sure, "very"')], "ann")
    review.add(
        [Decision(1, "keep"), Decision(2, "drop", note="blurred\r\nphoto\u2028\r"), Decision(4, "unsure")],
        "bob, jr",
    )
    review.add([Decision(5, "relabel", NAMES[0])], "ann")
    review.close()
    return saved


def compared(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    columns = frame[["row", "action", "label", "reviewer", "note"]].astype(object)
    return [tuple(line) for line in columns.where(columns.notna(), None).itertuples(index=False)]


@pytest.mark.parametrize("target", ["d.csv", "d.parquet", "d.jsonl", "d.json"])
def test_what_is_exported_can_be_imported(reviewed: SavedAudit, tmp_path: Path, target: str) -> None:
    path = tmp_path / target
    assert export_decisions(reviewed, path) == 5
    assert compared(read_decisions(path, reviewed)) == compared(reviewed.decisions())
    other = made(tmp_path / "other")
    assert import_decisions(other, path) == 5
    assert compared(other.decisions()) == compared(reviewed.decisions())
    assert export_decisions(reviewed, path, flagged=True, overwrite=True) == 6
    assert compared(read_decisions(path, reviewed)) == compared(reviewed.decisions())


def test_exports_say_what_a_row_is(reviewed: SavedAudit, tmp_path: Path) -> None:
    frame = reviewed.decided_rows(flagged=True)
    assert frame["row"].tolist() == [0, 1, 2, 3, 4, 5]
    assert frame["path"].tolist() == HOSTILE
    assert frame["id_order"].tolist() == list(range(100, 106))
    assert frame["error_probability"].tolist() == reviewed.table["error_probability"].tolist()
    assert [frame["action"][3], frame["given_label"][5]] == [None, None]
    export_decisions(reviewed, tmp_path / "d.csv")
    read = pd.read_csv(tmp_path / "d.csv", keep_default_na=False)
    assert read["label"].tolist() == [NAMES[2], "", "", "", NAMES[0]]


def test_datasets(reviewed: SavedAudit, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    assert export_decisions(reviewed, tmp_path / "d") == 5
    rows = datasets.load_from_disk(str(tmp_path / "d"))
    assert rows["action"][:] == ["relabel", "keep", "drop", "unsure", "relabel"]
    assert rows["label"][:] == [NAMES[2], None, None, None, NAMES[0]]
    with pytest.raises(InputError, match="exists"):
        export_decisions(reviewed, tmp_path / "d", format="datasets", overwrite=True)


def test_coco(reviewed: SavedAudit, tmp_path: Path) -> None:
    export_decisions(reviewed, tmp_path / "d.json", format="coco")
    content = json.loads((tmp_path / "d.json").read_text("utf-8"))
    assert [image["file_name"] for image in content["images"]] == [HOSTILE[row] for row in (0, 1, 2, 4, 5)]
    assert [each["category_id"] for each in content["annotations"]] == [2, 1, 2, 1, 0]
    assert [each["attributes"]["action"] for each in content["annotations"]][:3] == [
        "relabel",
        "keep",
        "drop",
    ]
    assert [category["name"] for category in content["categories"]] == list(NAMES)
    with pytest.raises(InputError, match="exported only"):
        import_decisions(reviewed, tmp_path / "d.json", format="coco")
    tables = made(tmp_path / "tables", paths=False)
    with pytest.raises(InputError, match="images"):
        export_decisions(tables, tmp_path / "t.json", format="coco", flagged=True)
    assert not (tmp_path / "t.json").exists()


def test_label_studio_tasks_that_were_annotated_there(reviewed: SavedAudit, tmp_path: Path) -> None:
    def annotated(row: int, choice: str | None, **more: Any) -> dict[str, Any]:
        value = {"choices": [] if choice is None else [choice]}
        result = [{"from_name": "mine", "to_name": "x", "type": "choices", "value": value}]
        return {"data": {"row": row}, "annotations": [{"result": result, **more}]}

    tasks = [
        annotated(0, NAMES[0]),
        annotated(1, NAMES[0]),
        annotated(2, None, was_cancelled=True),
        {"data": {"row": 3}, "annotations": []},
    ]
    (tmp_path / "d.json").write_text(json.dumps(tasks))
    found = read_decisions(tmp_path / "d.json", reviewed)
    assert read_decisions(pd.DataFrame(), reviewed).empty
    assert found["action"].tolist() == ["keep", "relabel", "unsure"]
    assert found["label"].tolist() == [None, NAMES[0], None]


def test_annotators_of_one_task_may_disagree(tmp_path: Path) -> None:
    def annotation(choice: str, person: Any) -> dict[str, Any]:
        result = {"from_name": "mine", "type": "choices", "value": {"choices": [choice]}}
        return {"result": [result], "completed_by": person}

    votes = [annotation(NAMES[1], 7), annotation(NAMES[1], {"email": "b@c"}), annotation(NAMES[0], 9)]
    (tmp_path / "d.json").write_text(json.dumps([{"data": {"row": 0}, "annotations": votes}]))
    saved = made(tmp_path / "audit")
    assert read_decisions(tmp_path / "d.json", saved)["action"].tolist() == ["keep"]
    assert import_decisions(saved, tmp_path / "d.json") == 3
    assert saved.decisions("majority")["label"].tolist() == [NAMES[1]]
    assert saved.decisions()[["action", "reviewer", "conflict"]].values.tolist() == [["keep", "9", True]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("row,label\n3,7.0\n1,\n0,=cmd|' /C calc'!A0\n", [(3, "keep"), (0, "relabel")]),
        ("id_order;action\n105;drop\n100;keep\n", [(5, "drop"), (0, "keep")]),
        ('path\tlabel\n"a,b"\t7\n<script>\t7\n', [(0, "keep"), (3, "keep")]),
        ("\ufeffrow,action\n0,keep\n0,drop\n", [(0, "drop")]),
    ],
)
def test_tables_made_by_hand(tmp_path: Path, text: str, expected: list[tuple[int, str]]) -> None:
    (tmp_path / "d.csv").write_text(text, "utf-8")
    found = read_decisions(tmp_path / "d.csv", made(tmp_path / "audit"))
    assert list(zip(found["row"], found["action"], strict=True)) == expected


def test_numbers_in_other_formats(tmp_path: Path) -> None:
    saved = made(tmp_path / "audit")
    frame = pd.DataFrame({"row": [0.0, 3.0], "label": [7.0, np.nan], "action": [None, "drop"]})
    frame.to_parquet(tmp_path / "d.parquet")
    (tmp_path / "d.jsonl").write_text('{"row": 0, "label": 7}\n\n{"row": 3, "action": "drop"}\n')
    for name in ("d.parquet", "d.jsonl"):
        assert read_decisions(tmp_path / name, saved)["action"].tolist() == ["keep", "drop"]


def test_tables_in_memory(tmp_path: Path) -> None:
    saved = made(tmp_path / "audit")
    found = read_decisions(pd.DataFrame({"id_order": [103, 100], "label": ["7", NAMES[1]]}), saved)
    assert compared(found) == [(3, "keep", None, "", ""), (0, "relabel", NAMES[1], "", "")]
    assert read_decisions(found, saved).equals(found)
    with pytest.raises(InputError, match="add 'row'"):
        saved.changes(pd.DataFrame({"label": ["7"]}))


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("d.csv", "row,action\n6,drop\n", "no row '6'"),
        ("d.csv", "row,action\n0,drop\n-1,drop\n", "'-1'"),
        ("d.csv", "row,action\n0,dorp\n", "did you mean 'drop'"),
        ("d.csv", "row,action\n0,relabel\n", "record 0"),
        ("d.csv", "row,label\n0,8\n", "unknown class '8'"),
        ("d.csv", "where,label\n0,8\n", "add 'row'"),
        ("d.csv", "", "cannot be read"),
        ("d.parquet", "PAR1", "cannot be read"),
        ("d.jsonl", "[1]\n", "cannot be read"),
        ("d.jsonl", '{"row": NaN}\n', "cannot be read"),
        ("d.json", '{"row": 1}', "cannot be read"),
        ("d.json", '[{"data": {}, "annotations": [{"result": [{"type": "choices"}]}]}]', "cannot be read"),
        ("d.txt", "", "unknown format"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str, word: str) -> None:
    saved = made(tmp_path / "audit")
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=word):
        import_decisions(saved, tmp_path / name)
    assert list(saved.folder.iterdir()) == []


def test_exports_leave_nothing_half_written(reviewed: SavedAudit, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "d.csv").write_text("mine")
    before = sorted(tmp_path.iterdir())

    def refused(words: str, target: Path, **how: Any) -> None:
        with pytest.raises(InputError, match=words):
            export_decisions(reviewed, target, **how)
        assert sorted(tmp_path.iterdir()) == before

    refused("--overwrite", tmp_path / "d.csv")
    refused("inside", reviewed.folder / "d.csv")
    refused("unknown format", tmp_path / "d.txt")
    refused("unknown format", tmp_path / "d.txt", format="xml")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pyarrow.parquet, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export_decisions(reviewed, tmp_path / "d.parquet")
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(InputError, match="no decisions"):
        export_decisions(made(tmp_path / "other"), tmp_path / "e.csv")
    assert {each.ending for each in FORMATS.values()} == {".csv", ".parquet", ".jsonl", ".json", ""}
