"""Files that others made are opened only if they are files, and of a size that can be read."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noiselimit import files as opening
from noiselimit.files import open_regular, read_bytes, read_small_text, require_regular

READERS: list[Callable[[Path], Any]] = [open_regular, require_regular, read_bytes, read_small_text]


def test_what_a_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("β\r\n", "utf-8")
    link = tmp_path / "link"
    link.symlink_to(path)
    for each in (path, link, bytes(link), str(link)):
        require_regular(each)
        with open_regular(each) as file:
            assert file.read() == "β\r\n".encode()
    assert read_bytes(path) == "β\r\n".encode()
    assert read_small_text(path) == "β\r\n"


@pytest.mark.parametrize("read", READERS)
def test_pipes_devices_and_folders_are_no_files(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="it is no regular file"):
            read(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")


@pytest.mark.parametrize("read", READERS)
def test_holes_do_not_fill_the_memory(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**42)
    with pytest.raises(OSError, match="more than twice the bytes of this machine's memory"):
        read(tmp_path / "sparse")


def test_small_files_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(opening.LARGEST_TEXT + 1)
    with pytest.raises(OSError, match="it has more than 64 MiB"):
        read_small_text(path)
    assert len(read_bytes(path, opening.LARGEST_TEXT + 1)) == opening.LARGEST_TEXT + 1


def test_no_handle_stays_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="regular"):
            open_regular(tmp_path / "pipe")
    assert len(os.listdir("/proc/self/fd")) == before
