"""noiselimit audit of data that do not fit in memory: the same result, and review and apply work on it."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from noiselimit.audit.folder import open_audit
from noiselimit.cli.main import run
from noiselimit.data.arrays import Rows
from noiselimit.data.reading import Reading
from noiselimit.engine.cohort import CohortTrainer
from noiselimit.review.queue import Filter
from noiselimit.review.session import Session
from tests.audits import saved
from tests.cli.conftest import Answer
from tests.faults.commands import run as run_process

ROWS, FILES = 100, 3
QUICK = ["--label", "kind", "--fast", "--epochs", "6", "--threads", "1", "--quiet", "--device", "cpu"]


def write_data(folder: Path) -> pd.DataFrame:
    """Three classes that are easy to tell apart, in three files; every twentieth label is wrong."""
    generator, count = np.random.default_rng(4), ROWS * FILES
    kinds = np.arange(count) % 3
    frame = pd.DataFrame(6 * np.eye(3)[kinds] + generator.normal(size=(count, 3)), columns=["a", "b", "c"])
    frame["key"] = [generator.bytes(6).hex() for _ in range(count)]
    kinds[::20] = (kinds[::20] + 1) % 3
    frame["kind"] = pd.Categorical(np.array(["ant", "bee", "cow"], object)[kinds])
    folder.mkdir(parents=True)
    for number in range(FILES):
        part = frame.iloc[number * ROWS : (number + 1) * ROWS]
        part.to_parquet(folder / f"part-{number}.parquet", index=False, row_group_size=30)
    return frame


def audited(folder: Path, *more: str) -> pd.DataFrame:
    """The table of an audit of the data in a folder."""
    assert run(["audit", str(folder / "data"), *QUICK, "--out", str(folder / "found"), *more]) == 0
    return pd.read_parquet(folder / "found" / "label_issues.parquet")


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, an audit of them that was streamed, and the cache; nobody writes to it."""
    folder = tmp_path_factory.mktemp("streamed")
    write_data(folder / "data")
    audited(folder, "--stream", "on")
    return folder


def test_a_streamed_audit_is_the_audit_in_memory(streamed: Path, tmp_path: Path) -> None:
    shutil.copytree(streamed / "data", tmp_path / "data")
    found = pd.read_parquet(streamed / "found" / "label_issues.parquet")
    other = audited(tmp_path, "--stream", "off")
    exact = ["is_label_issue", "given_label", "predicted_label", "row", "file", "position", "id_key"]
    pd.testing.assert_frame_equal(found[exact], other[exact])
    pd.testing.assert_frame_equal(found.drop(columns=exact), other.drop(columns=exact), atol=1e-6)
    assert found["is_label_issue"].sum() > 5
    assert found["file"].tolist() == [f"part-{row // ROWS}.parquet" for row in range(ROWS * FILES)]
    assert found["position"].tolist() == [row % ROWS for row in range(ROWS * FILES)]
    probabilities = np.load(streamed / "found" / "pred_probs.npy")
    np.testing.assert_allclose(probabilities, np.load(tmp_path / "found" / "pred_probs.npy"), atol=1e-6)


def test_a_streamed_audit_can_be_reviewed(streamed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noiselimit.data.shards.available_memory", lambda: 1000)
    saved = open_audit(streamed / "found")
    assert isinstance(saved.load().examples.inputs, Rows)
    session = Session(saved)
    try:
        row = session.listed(Filter())["rows"][0]
        detail = session.detail(row)
        assert {column["name"] for column in detail["columns"]} == {"a", "b", "c", "key"}
        assert session.neighbours.wait(10)
        assert "memory" in session.near(row, 0)["problem"]
    finally:
        session.close()
        (streamed / "found" / "decisions.sqlite").unlink()


def test_apply_writes_a_corrected_folder(
    streamed: Path, tmp_path: Path, command: Callable[..., Answer]
) -> None:
    whole, table = (
        pd.read_parquet(streamed / "data"),
        pd.read_parquet(streamed / "found" / "label_issues.parquet"),
    )
    flagged = table["is_label_issue"].to_numpy()
    assert command("apply", streamed / "found", "--fix", "drop", "--to", tmp_path / "dropped").code == 0
    dropped = pd.read_parquet(tmp_path / "dropped")
    pd.testing.assert_frame_equal(dropped, whole[~flagged].reset_index(drop=True))
    assert sorted(path.name for path in (tmp_path / "dropped").iterdir()) == [
        f"part-{n}.parquet" for n in range(3)
    ]
    saved = open_audit(streamed / "found")
    made = pd.DataFrame({"row": [5, 250], "action": ["relabel", "drop"], "label": ["cow", None]})
    changes = saved.changes(made, fix="relabel")
    assert changes.set_index("row").loc[250, ["file", "position"]].tolist() == ["part-2.parquet", 50]
    counts = saved.apply(tmp_path / "relabelled", made, fix="relabel")
    expected = whole["kind"].where(~flagged, table["predicted_label"].astype(object)).astype(object)
    expected[5] = "cow"
    relabelled = pd.read_parquet(tmp_path / "relabelled")
    assert relabelled["kind"].tolist() == expected.drop(250).tolist()
    assert counts == {
        "rows": 299,
        "dropped": 1,
        "relabelled": int((expected != whole["kind"].astype(object)).drop(250).sum()),
    }
    for name in ("dropped", "dropped.csv"):
        again = command("apply", streamed / "found", "--fix", "drop", "--to", tmp_path / name)
        assert (again.code, "new folder" in again.err) == (2, True)


def test_a_single_file_and_numbers_as_labels(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pd.DataFrame({"x": np.arange(30) / 7, "label": np.arange(30) % 3 + 5}).to_parquet(path)
    audit = saved(path, tmp_path / "audit", Reading(stream="on"))
    assert audit.apply(tmp_path / "fixed.parquet", fix="relabel") == {
        "rows": 30,
        "dropped": 0,
        "relabelled": 4,
    }
    fixed = pd.read_parquet(tmp_path / "fixed.parquet")
    assert fixed["label"].tolist() == [6, 7, 5, 6, *(np.arange(4, 30) % 3 + 5)]
    assert fixed["x"].tolist() == pd.read_parquet(path)["x"].tolist()


@pytest.mark.parametrize("change", [24, 64])  # while features are written, and when the judges' turn has come
def test_kill_9_loses_nothing(
    streamed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: int
) -> None:
    shutil.copytree(streamed / "data", tmp_path / "data")
    words = ["audit", "data", *QUICK, "--stream", "on", "--out", "found"]
    killed = run_process(words, tmp_path, change=change, signal=signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if change == 64:
        assert list(tmp_path.glob(".found.unfinished/limit-*/metrics.json"))
        monkeypatch.setattr(CohortTrainer, "train", None)  # not called again
    found = audited(tmp_path, "--stream", "on")
    expected = pd.read_parquet(streamed / "found" / "label_issues.parquet")
    pd.testing.assert_frame_equal(found, expected)
    assert not list(tmp_path.glob(".found.unfinished"))
