"""Files that any reader of safetensors reads, and whose names tell whether they are whole."""

import errno
import os
import random
import stat
from contextlib import suppress
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.checkpoint_file import is_whole, write_tensors

TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8]
SHAPES = st.lists(st.integers(0, 4), max_size=3)
NAMES = st.text('abc/.éß"\\ ', min_size=1, max_size=8)


@given(st.dictionaries(NAMES, st.tuples(SHAPES, st.sampled_from([*TYPES, torch.bool])), max_size=6))
def test_the_library_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, wanted: dict[str, tuple[list[int], torch.dtype]]
) -> None:
    tensors = {
        name: torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(number)).to(dtype)
        for number, (name, (shape, dtype)) in enumerate(wanted.items())
    }
    path = write_tensors(tmp_path_factory.mktemp("file"), "stem", tensors, {"format": "1", "ü": "\n"})
    found = safetensors.torch.load_file(path)
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "1", "ü": "\n"}
    assert is_whole(path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_slices_of_larger_tensors_are_written_alone(tmp_path: Path) -> None:
    stacked = torch.arange(24.0).view(2, 3, 4)
    path = write_tensors(tmp_path, "s", {"row": stacked[1], "column": stacked[:, :, 1]}, {})
    found = safetensors.torch.load_file(path)
    assert torch.equal(found["row"], stacked[1])
    assert torch.equal(found["column"], stacked[:, :, 1])
    assert path.stat().st_size < 24 * 4 + 300


def test_whatever_happens_to_a_byte_is_noticed(tmp_path: Path) -> None:
    path = write_tensors(tmp_path, "s", {"a": torch.arange(50)}, {"format": "1"})
    whole = path.read_bytes()
    draw = random.Random(2)
    for _ in range(60):
        place, bit = draw.randrange(len(whole)), 1 << draw.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        assert not is_whole(path)
        path.write_bytes(whole[:place])
        assert not is_whole(path)
    path.write_bytes(whole + b"\0")
    assert not is_whole(path)
    path.write_bytes(whole)
    assert is_whole(path)
    with pytest.raises(OSError, match="No such file"):  # which says nothing of the file
        is_whole(tmp_path / "absent.safetensors")


@pytest.mark.parametrize("content", [b"", b"whole", b"\x02\0\0\0\0\0\0\0{}", b"\xff" * 8])
def test_a_file_that_is_mostly_holes_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = write_tensors(tmp_path, "s", {"a": torch.arange(50)}, {"format": "1"})
    if content != b"whole":
        path.write_bytes(content)
    os.truncate(path, 2**31)
    monkeypatch.setattr("noiselimit.engine.checkpoint_file.READ_AT_ONCE", "it would be read")
    assert not is_whole(path)
    os.truncate(path, 2**42)  # more than memories hold, though they may some day
    with suppress(OSError):
        assert not is_whole(path)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s")
    with pytest.raises(OSError, match="not a regular file"):
        is_whole(tmp_path / "s")


def test_a_disk_that_fills_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = write_tensors(tmp_path, "s", {"a": torch.zeros(3)}, {})

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_tensors(tmp_path, "s", {"a": torch.ones(3)}, {})
    assert list(tmp_path.iterdir()) == [older]


def test_a_file_system_that_cannot_sync_folders_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    path = write_tensors(tmp_path, "s", {"a": torch.ones(3)}, {})
    assert is_whole(path)
    assert list(tmp_path.iterdir()) == [path]
