"""Every mistake: one sentence that names the thing and the remedy, as docs/reliability.md has it."""

import shutil
from pathlib import Path

import pytest
from all_cases import CASES, IN_THE_TABLE
from asked import Case, Said, ask, stable, stored


def contents() -> dict[str, bytes | None]:
    """Every file and folder here, with what it holds."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(Path().rglob("*"))}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_a_mistake_is_one_sentence_and_changes_nothing(case: Case, good_run: Path) -> None:
    if case.needs_run:
        shutil.copytree(good_run, "run")
    case.prepare(Path.cwd())
    before = contents()
    said = ask(case)
    assert_one_sentence(case, said)
    for word in case.words:
        assert word in said.message
    assert contents() == before
    if case in IN_THE_TABLE:
        assert stored()[case.key]["message"] == stable(said.message), "stale: run docs/measure_bad_input.py"


def assert_one_sentence(case: Case, said: Said) -> None:
    assert said.code == 2
    assert said.printed == ""
    message = said.message
    if not isinstance(case.asked, str):
        assert message.startswith("noiselimit: ")
        assert message.endswith("\n")
        message = message[:-1]
    assert message.endswith((".", "?"))
    assert "\n" not in message
    assert len(message) < 1500


def test_the_table_has_these_cases_and_no_others() -> None:
    assert set(stored()) == {case.key for case in IN_THE_TABLE}
    assert len(IN_THE_TABLE) == len({case.key for case in IN_THE_TABLE}) >= 60
