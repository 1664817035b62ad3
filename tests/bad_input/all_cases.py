"""Every bad input that the command line and Python's functions know, from the lists of the tests."""

import sys
from pathlib import Path

import going_on
import hostile_files
import python_calls
from asked import Case

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
import test_cli_audit_bad_input as audits
import test_cli_bad_input as commands


def _commands() -> list[Case]:
    groups = {
        "Names": commands.NAMES,
        "Values": commands.VALUES,
        "Numbers": list(commands.number_cases()),
        "Transition matrices": commands.MATRICES,
        "Data": commands.DATA,
        "Places to write": commands.OUTPUT,
        "Configuration": commands.CONFIG,
    }
    with_run = {
        "No run": commands.NO_RUNS,
        "Damaged runs": commands.DAMAGED,
        "Predictions": commands.PREDICTIONS,
    }
    return [
        Case(group, what, asked, words, prepare, needs_run=group in with_run)
        for group, cases in (groups | with_run).items()
        for what, prepare, asked, words in cases
    ]


def _audits() -> list[Case]:
    """These prepare the working folder."""
    return [
        Case("Audits", what, asked, words, lambda folder, prepare=prepare: prepare())  # type: ignore[misc]
        for what, prepare, asked, words in audits.CASES
    ]


CASES = [*_commands(), *_audits(), *going_on.CASES, *python_calls.CASES, *hostile_files.CASES]
IN_THE_TABLE = [case for case in CASES if case.group != "Numbers" or case.what.endswith("=many")]
"""Of numbers one mistake an option is enough to see."""
