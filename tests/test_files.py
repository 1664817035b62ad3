"""Files are written whole or not at all, only regular files are read, and one process holds a folder."""

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noiselimit import files
from noiselimit.errors import InputError
from noiselimit.files import (
    atomic_file,
    atomic_folder,
    clear_leftovers,
    finite_json,
    folder_lock,
    make_folder,
    open_regular,
    read_bytes,
    read_small_text,
    require_regular,
    write_json,
)

READERS: list[Callable[[Path], Any]] = [open_regular, require_regular, read_bytes, read_small_text]


@pytest.mark.parametrize("read", READERS)
def test_only_regular_files_are_read(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="regular file"):
            read(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")


def test_text_files_have_a_largest_size(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(files.LARGEST_TEXT + 1)
    with pytest.raises(OSError, match="64 MiB"):
        read_small_text(tmp_path / "large")
    (tmp_path / "small").write_text("β\r\n", "utf-8", newline="")
    assert read_small_text(tmp_path / "small") == "β\r\n"


@pytest.mark.parametrize("text", ["NaN", "[1e999]", "-Infinity", str(10**30), '"\\ud800"', "[" * 10**5])
def test_json_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        finite_json(text)
    assert finite_json('{"a": [1, 2.5, null, "β"]}') == {"a": [1, 2.5, None, "β"]}


def test_json_is_written_for_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"β": [1, 0.1]})
    assert json.loads(path.read_text("utf-8")) == {"β": [1, 0.1]}
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, float("nan"))
    assert json.loads(path.read_text("utf-8")) == {"β": [1, 0.1]}
    assert list(tmp_path.iterdir()) == [path]


def fail_half_way(path: Path) -> None:
    path.write_text("half")
    raise RuntimeError("half-way")


def test_a_file_appears_whole_or_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    with atomic_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    with pytest.raises(RuntimeError, match="half-way"), atomic_file(path) as temporary:
        fail_half_way(temporary)
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(RuntimeError, match="half-way"), atomic_folder(path) as temporary:
        fail_half_way(temporary / "file.txt")
    assert list(tmp_path.iterdir()) == []
    with atomic_folder(path) as temporary:
        (temporary / "file.txt").write_text("whole")
        assert not path.exists()
    assert (path / "file.txt").read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("named", [True, False])
def test_a_full_disk_is_reported_under_the_final_name(tmp_path: Path, named: bool) -> None:
    path = tmp_path / "file.txt"
    with pytest.raises(OSError, match="No space left") as caught, atomic_file(path) as temporary:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([str(temporary)] if named else []))
    assert caught.value.filename == str(path)


@pytest.mark.parametrize("below", ["file", "file/deeper", "link"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InputError, match="cannot write to folder"):
        make_folder(tmp_path / below)
    for write in (atomic_file, atomic_folder):
        with pytest.raises(InputError, match="cannot write to folder"), write(tmp_path / below / "name"):
            pytest.fail("the block must not be entered")
    with pytest.raises(InputError, match="not a regular file"):
        write_json(tmp_path, 1)


def test_only_leftovers_of_the_named_targets_are_cleared(tmp_path: Path) -> None:
    (tmp_path / "run-1").mkdir()
    for name in (".run-1.abcd0123.tmp", ".run-2.abcd0123.tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text("half")
    (tmp_path / ".report.html.00000000.tmp").write_text("half")
    (tmp_path / ".run-1.11111111.tmp").symlink_to(tmp_path / "run-1")
    clear_leftovers(tmp_path, r"run-1|report\.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".run-2.abcd0123.tmp", "run-1"]


HOLDER = """
import sys
from pathlib import Path
from noiselimit.files import folder_lock

with folder_lock(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_TIMEOUT", 0.05)


@pytest.mark.usefixtures("_impatient")
def test_one_process_holds_a_folder_and_a_killed_one_frees_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match="in use by another process"), folder_lock(folder):
            pytest.fail("the lock must not be given twice")
        holder.kill()
    with folder_lock(folder), folder_lock(folder):  # the same thread may lock it again
        (folder / "file").touch()
    assert [path.name for path in folder.iterdir()] == ["file"]


@pytest.mark.usefixtures("_impatient")
def test_another_thread_is_refused(tmp_path: Path) -> None:
    refused: list[InputError] = []

    def lock() -> None:
        try:
            with folder_lock(Path("mine"), tmp_path / ".audit.lock"):
                pass
        except InputError as error:
            refused.append(error)

    with folder_lock(Path("mine"), tmp_path / ".audit.lock"):
        thread = threading.Thread(target=lock)
        thread.start()
        thread.join()
    assert "mine" in str(refused[0])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_stays_empty_is_removed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="bad input"), folder_lock(tmp_path / "a" / "b"):
        raise RuntimeError("bad input")
    assert list(tmp_path.iterdir()) == []
