"""The short form of `make fuzz`, and that it would notice what it is there to notice."""

import sys
from pathlib import Path

import fuzzing
import guard
import pytest
from fuzzing import fuzz
from guard import Watch, outcome
from readers import READERS
from samples import write_samples

from noiselimit.errors import InputError

CASES = 30 * len(READERS)


def test_damaged_files_are_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    write_samples(tmp_path)
    tally = fuzz(3, CASES, tmp_path)
    assert tally.findings == []
    assert tally.cases == CASES
    for name, counts in tally.outcomes.items():
        assert counts["refused"] > counts.get("read", 0), name  # else nothing was damaged
    assert 0 < tally.peak < guard.RESIDENT


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


def test_what_a_case_may_do(watch: Watch, tmp_path: Path) -> None:
    def refuse() -> None:
        raise InputError("there is nothing; add something.")

    assert outcome(lambda: None, watch) == ("read", "")
    assert outcome(refuse, watch) == ("refused", "")
    assert outcome(lambda: 1 / 0, watch)[0] == "ZeroDivisionError"
    assert outcome(lambda: (tmp_path / "x").write_text("x"), watch)[0] == "did more than read"
    assert outcome(lambda: (tmp_path / "y").mkdir(), watch)[0] == "did more than read"
    assert outcome(lambda: sys.exit(), watch)[0] == "SystemExit"


def test_memory_that_ran_out_is_noticed_behind_a_sentence(watch: Watch) -> None:
    def ask() -> None:
        try:
            raise MemoryError
        except MemoryError:
            raise InputError("the file is damaged; fetch it again.") from None

    assert outcome(ask, watch)[0] == "memory"


@pytest.mark.parametrize(
    "end",
    [
        "import os; os.abort()",
        "import os; os._exit(0)",
        "import time; open(f'{sys.path[0]}/stopped', 'w').close(); time.sleep(600)",
    ],
)
def test_a_case_that_ends_or_stops_its_process_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """A stand-in for the process reads every case but the second."""
    (tmp_path / "guard.py").write_text(
        "import json, sys\n"
        "for number in range(int(sys.argv[4]), int(sys.argv[5])):\n"
        "    print(json.dumps({'begin': number, 'reader': 'r', 'file': 'f'}), flush=True)\n"
        f"    if number == 1:\n        {end}\n"
        "    said = {'end': number, 'kind': 'read', 'place': '', 'seconds': 0.0, 'used': 0.0, 'peak': 0}\n"
        "    print(json.dumps(said), flush=True)\n"
    )
    stopped, select = tmp_path / "stopped", fuzzing.select.select

    def patient(pipes: list[int], *rest: object) -> tuple[list[int], ...]:
        """Only who says that it has stopped is waited for in vain, however slow the machine is."""
        while not (ready := select(pipes, [], [], 0.05))[0] and not stopped.exists():
            pass
        if not ready[0]:
            stopped.unlink()
        return ready

    monkeypatch.setattr(fuzzing, "HERE", tmp_path)
    monkeypatch.setattr(fuzzing.select, "select", patient)
    tally = fuzz(0, 4, tmp_path)
    assert tally.outcomes == {"r": {"read": 3, "finding": 1}}
    assert [finding["number"] for finding in tally.findings] == [1]
