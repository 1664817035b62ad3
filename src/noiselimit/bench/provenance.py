"""Which state of the source was measured."""

import os
import subprocess
from pathlib import Path

import noiselimit


def source_state(folder: Path | None = None) -> tuple[str | None, bool | None]:
    """(commit, whether the package differs from it); (None, None) where it is not run from a checkout.

    Whether it differs is None where nobody can tell.

    An installed package inside somebody else's repository is no checkout: git must know its files. Whoever
    measures a copy without its history may name the commit in the variable NOISELIMIT_COMMIT; it is not
    checked.
    """
    named = os.environ.get("NOISELIMIT_COMMIT")
    if named:
        return named, None
    place = folder or Path(noiselimit.__file__).parent
    if _git(place, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None, None
    commit, changes = _git(place, "rev-parse", "HEAD"), _git(place, "status", "--porcelain", "--", ".")
    return commit, None if changes is None else bool(changes)


def _git(place: Path, *arguments: str) -> str | None:
    """What git says, or None where it is missing or refuses."""
    try:
        answer = subprocess.run(
            ["git", *arguments], cwd=place, capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
