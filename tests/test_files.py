"""A reader never sees half a file, and a folder that cannot be written gets a sentence."""

import errno
import fcntl
import json
import os
import re
import sys

import pytest

from noiselimit.errors import InputError
from noiselimit.files import atomic_file, atomic_folder, clear_leftovers, make_folder, write_json


def fail_half_way(path):
    """Write something and fail, as a full disk or an interrupt would."""
    path.write_text("half")
    raise RuntimeError("half-way")


def test_a_file_appears_whole_and_alone(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with atomic_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.parent == path.parent
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half-way"), atomic_file(path) as temporary:
        fail_half_way(temporary)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("named", [True, False])
def test_a_full_disk_is_said_of_the_file_that_people_know(tmp_path, named):
    path = tmp_path / "file.txt"
    with pytest.raises(OSError, match="No space left") as caught, atomic_file(path) as temporary:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([str(temporary)] if named else []))
    assert caught.value.filename == str(path)


def test_what_another_file_says_is_not_said_of_this_one(tmp_path):
    for error in (
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        FileNotFoundError(errno.ENOENT, "No", "other"),
    ):
        with pytest.raises(type(error)) as caught, atomic_file(tmp_path / "file.txt"):
            raise error
        assert caught.value.filename in (None, "other")


def test_a_folder_appears_whole(tmp_path):
    path = tmp_path / "run"
    with atomic_folder(path) as temporary:
        (temporary / "file.txt").write_text("whole")
        assert not path.exists()
    assert (path / "file.txt").read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_folder_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="half-way"), atomic_folder(tmp_path / "run") as temporary:
        fail_half_way(temporary / "file.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_files_have_the_mode_that_the_mask_asks_for(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write_json(tmp_path / "file.json", 1)
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file.json").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("told", [True, False])
def test_the_mask_never_lets_files_of_other_threads_be_more_open(tmp_path, monkeypatch, told):
    masks, real = [], os.umask
    if not told:  # as on other systems
        monkeypatch.setattr("noiselimit.files._MASK", re.compile(b"(?!)"))
    monkeypatch.setattr(os, "umask", lambda mask: masks.append(mask) or real(mask))
    write_json(tmp_path / "file.json", 1)
    monkeypatch.undo()
    before = real(0o077)
    real(before)
    assert set(masks) == (set() if told and sys.platform == "linux" else {0o077, before})
    assert (tmp_path / "file.json").stat().st_mode & 0o777 == 0o666 & ~before


def test_names_that_are_not_utf_8_come_back_from_json(tmp_path):
    value = {os.fsdecode(b"caf\xe9"): "β"}
    write_json(tmp_path / "file.json", value)
    assert json.loads((tmp_path / "file.json").read_text("utf-8")) == value
    assert "β" in (tmp_path / "file.json").read_text("utf-8")


def test_a_link_that_leads_nowhere_is_no_folder(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    for path in (tmp_path / "link", tmp_path / "link" / "below"):
        with pytest.raises(InputError, match=r"\(a link that leads nowhere\): choose another one"):
            make_folder(path)


def test_a_folder_in_the_place_of_a_file(tmp_path):
    with pytest.raises(InputError, match=rf"^cannot write {tmp_path}: it is a folder; name a file"):
        write_json(tmp_path, 1)


@pytest.mark.parametrize("below", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_written(tmp_path, below):
    (tmp_path / "file").touch()
    target = tmp_path / below
    with pytest.raises(InputError, match=rf"^cannot write to folder {target} \(.*\): choose another one"):
        make_folder(target)
    for write in (atomic_file, atomic_folder):
        with pytest.raises(InputError, match=r"^cannot write to folder"), write(target / "name"):
            pytest.fail("the block must not be entered")


def test_json_is_readable_by_others(tmp_path):
    path = tmp_path / "value.json"
    write_json(path, {"β": [1, 0.1]})
    assert json.loads(path.read_text("utf-8")) == {"β": [1, 0.1]}
    assert "β" in path.read_text("utf-8")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, float("nan"))
    assert json.loads(path.read_text("utf-8")) == {"β": [1, 0.1]}
    assert list(tmp_path.iterdir()) == [path]


def test_what_killed_processes_left_of_a_file_goes_when_it_is_written_again(tmp_path):
    (tmp_path / ".p.csv.abcd_123.tmp").write_text("half")
    others = [".p.csv.ABCD.tmp", ".q.csv.abcd_123.tmp", "p.csv.abcd_123.tmp"]
    for name in others:
        (tmp_path / name).write_text("another's")
    (tmp_path / ".p.csv.00000000.tmp").symlink_to(tmp_path / others[0])
    (tmp_path / ".p.csv.11111111.tmp").mkdir()
    with atomic_file(tmp_path / "p.csv") as alive, atomic_file(tmp_path / "p.csv") as second:
        alive.write_text("first")  # two that are alive leave each other alone
        second.write_text("second")
    assert (tmp_path / "p.csv").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [*others, "p.csv", ".p.csv.00000000.tmp", ".p.csv.11111111.tmp"]
    )


def test_a_temporary_file_that_was_cleared_before_it_was_held_is_made_anew(tmp_path, monkeypatch):
    real, taken = fcntl.flock, []

    def flock(handle, how):
        if not taken:
            taken.extend(tmp_path.glob(".*.tmp"))
            taken[0].unlink()
        real(handle, how)

    monkeypatch.setattr("fcntl.flock", flock)
    write_json(tmp_path / "file.json", 1)
    assert len(taken) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "file.json"]


def test_what_killed_processes_left_is_cleared_and_nothing_else(tmp_path):
    for name in (".run-1.abcd_123.tmp", ".run-2.abcd_123.tmp", "run-1.abcd_123.tmp", ".run-1.tmp", "run-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text("half")
    (tmp_path / ".run-1.00000000.tmp").write_text("half")
    (tmp_path / ".run-1.11111111.tmp").symlink_to(tmp_path / "run-1")
    clear_leftovers(tmp_path, r"run-1|report\.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".run-1.tmp", ".run-2.abcd_123.tmp", "run-1", "run-1.abcd_123.tmp",
    ]  # fmt: skip
    assert (tmp_path / "run-1" / "file.txt").exists()
