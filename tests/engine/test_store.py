"""Damaged files are left aside and told of, two are kept of every run, and nothing stands in the way."""

import errno
import json
import math
import os
from pathlib import Path
from typing import BinaryIO

import pytest
import torch
from broken_off import assert_same_run, train_broken

from noiselimit.data.examples import DataSet
from noiselimit.engine import checkpoint_file as tensor_file
from noiselimit.engine.checkpoint_file import write_tensors
from noiselimit.errors import InputError
from noiselimit.files import open_regular
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

EVERYTHING = 10**9
SPEC = RunSpec("limit-l", epochs=8, batch_size=16, network="linear", noise="uniform:0.3")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed(blobs: DataSet) -> Run:
    return train(SPEC, blobs, device="cpu", threads=1)[0]


def files(out: Path) -> list[Path]:
    return sorted((out / ".checkpoints").iterdir())


def epochs(out: Path) -> list[str]:
    return [path.name.split("-")[1] for path in files(out)]


def damage(path: Path, way: str) -> None:
    content = bytearray(path.read_bytes())
    if way == "flipped":
        content[len(content) // 2] ^= 4
    path.write_bytes(content[: len(content) // 2] if way == "truncated" else content)


def entry_with(**values: object) -> dict[str, str]:
    """The header of a checkpoint that says so of a run."""
    good = {"folder": f"ce-seed0-{'0' * 16}", "epoch": 1, "seconds": 1.0, "averaged": False, "torch": "2"}
    return {"format": "1", "runs": json.dumps({"0" * 16: {**good, **values}})}


def test_two_are_kept_and_the_folder_goes_in_the_end(blobs: DataSet, tmp_path: Path) -> None:
    train_broken([SPEC], blobs, tmp_path, after=5)
    assert epochs(tmp_path) == ["00004", "00005"]
    train_broken([SPEC], blobs, tmp_path, after=1)
    assert epochs(tmp_path) == ["00005", "00006"]
    (run,) = train_broken([SPEC], blobs, tmp_path, EVERYTHING)[0] or ()
    assert list(tmp_path.iterdir()) == [run.path]


@pytest.mark.parametrize("way", ["flipped", "truncated"])
def test_a_damaged_one_is_told_of_and_the_older_one_serves(
    blobs: DataSet, undisturbed: Run, tmp_path: Path, way: str
) -> None:
    train_broken([SPEC], blobs, tmp_path, after=5)
    damaged = files(tmp_path)[1]
    damage(damaged, way)
    runs, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert said == [
        f"{damaged} is damaged: older checkpoints serve where there are any.",
        "1 of 1 runs go on from epoch 4.",
    ]
    assert runs is not None
    assert_same_run(undisturbed, runs[0])
    assert list(tmp_path.iterdir()) == [runs[0].path]


def test_where_all_are_damaged_training_starts_anew(blobs: DataSet, undisturbed: Run, tmp_path: Path) -> None:
    train_broken([SPEC], blobs, tmp_path, after=5)
    both = files(tmp_path)
    for path in both:
        damage(path, "flipped")
    runs, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert said == [f"{both[0]}, {both[1]} are damaged: training starts anew."]
    assert runs is not None
    assert_same_run(undisturbed, runs[0])


def test_what_a_killed_process_left_is_cleared_away(blobs: DataSet, tmp_path: Path) -> None:
    train_broken([SPEC], blobs, tmp_path, after=2)
    (tmp_path / ".checkpoints" / ".0123456789abcdef.tmp").write_bytes(b"half")
    _, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert said == ["1 of 1 runs go on from epoch 2."]
    assert not (tmp_path / ".checkpoints").exists()


FOREIGN = ("precious.tmp", ".0123.tmp", "mine.safetensors", "epoch-1-best.safetensors")


def test_what_others_put_there_is_not_touched(blobs: DataSet, tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    for name in FOREIGN:
        (folder / name).write_text(name)
    (folder / f"epoch-00001-{'0' * 32}.safetensors").symlink_to("mine.safetensors")
    (folder / f"epoch-00002-{'0' * 32}.safetensors").mkdir()
    os.mkfifo(folder / f"epoch-00003-{'0' * 32}.safetensors")
    before = files(tmp_path)
    train_broken([SPEC], blobs, tmp_path, after=3)
    _, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert said == ["1 of 1 runs go on from epoch 3."]
    assert files(tmp_path) == before
    assert [(folder / name).read_text() for name in FOREIGN] == list(FOREIGN)


def test_a_link_in_the_place_of_the_folder_is_not_followed(blobs: DataSet, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    theirs = [
        tmp_path / "precious" / name
        for name in (*FOREIGN, f"epoch-00001-{'0' * 32}.safetensors", ".0123456789abcdef.tmp")
    ]
    for path in theirs:
        path.write_text("theirs")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".checkpoints").symlink_to("../precious")
    with pytest.raises(InputError, match=r"/out/\.checkpoints is a link, which is not followed: delete it"):
        train_broken([SPEC], blobs, tmp_path / "out", EVERYTHING)
    assert sorted((tmp_path / "precious").iterdir()) == sorted(theirs)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".checkpoints"]


def test_one_that_cannot_be_read_just_now_stays(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_broken([SPEC], blobs, tmp_path, after=5)
    older, newer = files(tmp_path)

    def refusing(path: Path) -> BinaryIO:
        if path == newer:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open_regular(path)

    with monkeypatch.context() as patch:
        patch.setattr("noiselimit.engine.checkpoint_file.open_regular", refusing)
        _, said = train_broken([SPEC], blobs, tmp_path, after=2)
    assert said == [
        f"{newer} cannot be read (Input/output error): older checkpoints serve where there are any.",
        "1 of 1 runs go on from epoch 4.",
    ]
    assert newer in files(tmp_path)
    assert older not in files(tmp_path)


def test_a_full_disk_is_told_of_once_and_training_goes_on(
    blobs: DataSet, undisturbed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_broken([SPEC], blobs, tmp_path, after=2)
    real, calls = os.fsync, 0

    def full_for_a_while(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls <= 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(tensor_file.os, "fsync", full_for_a_while)
        _, said = train_broken([SPEC], blobs, tmp_path, after=3)
        assert epochs(tmp_path) == ["00001", "00002"], "the older ones stay"
        assert len(said) == 2
        assert "no checkpoint could be written" in said[1]
        assert "No space left on device" in said[1]
        train_broken([SPEC], blobs, tmp_path, after=2)
        assert epochs(tmp_path) == ["00003", "00004"], "the disk has recovered"
    runs, _ = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert runs is not None
    assert_same_run(undisturbed, runs[0])


def test_a_folder_that_cannot_be_made_is_no_reason_to_stop(
    blobs: DataSet, undisturbed: Run, tmp_path: Path
) -> None:
    (tmp_path / ".checkpoints").write_text("in the way")
    runs, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert len(said) == 1
    assert "File exists" in said[0]
    assert runs is not None
    assert_same_run(undisturbed, runs[0])


def test_a_newer_format_is_refused(blobs: DataSet, tmp_path: Path) -> None:
    path = write_tensors(tmp_path / ".checkpoints", "epoch-00001", {}, {"format": "2"})
    with pytest.raises(InputError, match="was written by a newer noiselimit"):
        train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert path.exists()


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"format": "1"},
        {"format": "1", "runs": "[" * 100_000},
        {"format": "1", "runs": '{"0": {"folder": "../x", "epoch": 1}}'},
        entry_with(folder=".."),
        entry_with(epoch=0),
        entry_with(epoch=10**400),
        entry_with(seconds=math.inf),
        entry_with(seconds="1"),
        {"format": "one", "runs": "{}"},
        {"format": "1", "runs": '{"0": 7}'},
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_left_aside(
    blobs: DataSet, tmp_path: Path, metadata: dict[str, str]
) -> None:
    write_tensors(tmp_path / ".checkpoints", "epoch-00001", {"a": torch.zeros(1)}, metadata)
    runs, said = train_broken([SPEC], blobs, tmp_path, EVERYTHING)
    assert runs is not None
    assert len(said) == 1
    assert "is damaged: training starts anew" in said[0]


def test_a_state_of_another_network_is_refused(blobs: DataSet, tmp_path: Path) -> None:
    """As when the code behind a dotted path has changed: the hash covers its name alone."""
    from noiselimit.engine.checkpoint_file import read_entries, read_state, to_tensors

    train_broken([SPEC], blobs, tmp_path, after=2)
    path = files(tmp_path)[-1]
    ((run, entry),) = read_entries(path).items()
    state = read_state(path, run, entry)
    other = {name: tensor[:-1] if tensor.dim() else tensor for name, tensor in state.tensors.items()}
    state.__dict__["tensors"] = other
    bound = train(SPEC, blobs, device="cpu")[0].spec
    for old in files(tmp_path):
        old.unlink()
    write_tensors(tmp_path / ".checkpoints", "epoch-00002", *to_tensors([(bound, state)]))
    with pytest.raises(InputError, match="does not fit the networks"):
        train_broken([SPEC], blobs, tmp_path, EVERYTHING)
