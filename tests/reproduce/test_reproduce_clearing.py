"""Folders that may go, and those that must not."""

import pytest

from noiselimit import RunSpec, load_data, train
from noiselimit.checkpoints.content import read_entries
from noiselimit.checkpoints.store import FOLDER
from noiselimit.reproduce.clearing import MARK, clear_recorded, mark_recorded
from noiselimit.training import Progress


class Broken(Exception):  # noqa: N818
    pass


def test_only_what_is_recorded_goes_even_if_half_of_it_is_gone(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.json").touch()
    (tmp_path / "c").mkdir()  # a process was killed while it removed this one
    mark_recorded(tmp_path / "a")
    mark_recorded(tmp_path / "c")
    clear_recorded(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_what_a_checkpoint_names_stays_until_that_is_damaged(tmp_path):
    def breaking(news: Progress) -> None:
        if news.record is not None and news.record["epoch"] == 3:
            raise Broken

    spec = RunSpec("ce", network="linear", epochs=5, train_size=50)
    with pytest.raises(Broken):
        train(
            spec, load_data("digits"), out=tmp_path, device="cpu", threads=1, checkpoints=0, progress=breaking
        )
    files = sorted((tmp_path / FOLDER).iterdir())
    (entry,) = read_entries(files[-1]).values()
    for name in (entry.folder, "other"):
        (tmp_path / name).mkdir()
        mark_recorded(tmp_path / name)
    clear_recorded(tmp_path)
    assert (tmp_path / entry.folder / MARK).exists()
    assert not (tmp_path / "other").exists()
    for path in files:
        path.write_bytes(b"damaged")
    clear_recorded(tmp_path)
    assert not (tmp_path / entry.folder).exists()
