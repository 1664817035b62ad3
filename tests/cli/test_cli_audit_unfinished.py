"""What killed audits leave beside their folders: an older audit comes back, the rest is tidied up."""

import os
from pathlib import Path

import pytest

from noiselimit.cli.audit import begin_to_write, has_begun_to_write, unfinished_folder
from noiselimit.errors import InputError

TYPED = {"data": "t.csv", "overwrite": True}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_audit_that_was_about_to_be_replaced_is_put_back(tmp_path: Path) -> None:
    """Its replacement was killed between the two renames."""
    begin_to_write(tmp_path / ".found.unfinished", TYPED)
    for name in ("new", "old"):
        (tmp_path / ".found.abcd_123.tmp" / name).mkdir(parents=True)
        (tmp_path / ".found.abcd_123.tmp" / name / "label_issues.csv").write_text(name)
    assert has_begun_to_write(tmp_path / "found", TYPED)
    assert (tmp_path / "found" / "label_issues.csv").read_text() == "old"
    assert names(tmp_path) == [".found.unfinished", "found"]
    assert not has_begun_to_write(tmp_path / "found", {"data": "another.csv"})


def test_an_audit_that_has_its_name_stays(tmp_path: Path) -> None:
    for folder in ("found", ".found.abcd_123.tmp/old"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "label_issues.csv").write_text(folder)
    (tmp_path / ".found.lock").touch()  # of a process that was killed at its very end
    assert not has_begun_to_write(tmp_path / "found", TYPED)
    assert (tmp_path / "found" / "label_issues.csv").read_text() == "found"
    assert names(tmp_path) == ["found"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "found").mkdir()
    (tmp_path / ".found.unfinished" / "run").mkdir(parents=True)
    os.mkfifo(tmp_path / ".found.unfinished" / ".writing.json")
    os.mkfifo(tmp_path / ".found.unfinished" / "run" / "metrics.json")
    assert not has_begun_to_write(tmp_path / "found", TYPED)
    with pytest.raises(ZeroDivisionError), unfinished_folder(tmp_path / "found"):
        raise ZeroDivisionError
    assert names(tmp_path) == ["found"]


@pytest.mark.parametrize("company", [(), (".founder.abcd_123.tmp", ".other")])
def test_where_no_audit_was_nothing_happens(tmp_path: Path, company: tuple[str, ...]) -> None:
    for name in company:
        (tmp_path / name / "old").mkdir(parents=True)
    assert not has_begun_to_write(tmp_path / "found", TYPED)
    assert not has_begun_to_write(tmp_path / "nowhere" / "found", TYPED)
    assert names(tmp_path) == sorted(company)


def test_a_link_in_the_place_of_what_is_kept_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious" / ".checkpoints").mkdir(parents=True)
    (tmp_path / ".found.unfinished").symlink_to("precious")
    with (
        pytest.raises(InputError, match=r"\.found\.unfinished is a link, which is not followed: delete it"),
        unfinished_folder(tmp_path / "found"),
    ):
        pytest.fail("the block must not be entered")
    assert names(tmp_path) == [".found.unfinished", "precious"]
    assert names(tmp_path / "precious") == [".checkpoints"]
