"""What an audit prints, for README.md and docs/audit.md.

    python docs/measure_audit.py

Runs the command that the documents show, in an empty folder, and stores what it prints, the settings of its
runs and the versions in results/audit.json; `docs/generate.py` puts it into the documents.
"""

import io
import json
import os
import shlex
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from pages.audit.runs import OUTDATED, digits_outdated

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "audit.json"
COMMAND = "noiselimit audit digits --noise uniform:0.2"


def measure() -> dict[str, Any]:
    """The content of results/audit.json."""
    import torch

    from noiselimit.cli.main import run
    from noiselimit.training import circumstances

    arguments = [*shlex.split(COMMAND)[1:], "--quiet"]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        printed = io.StringIO()
        with redirect_stdout(printed):
            assert run(arguments) == 0
        answer = io.StringIO()
        with redirect_stdout(answer):
            assert run([*arguments, "--json", "--overwrite"]) == 0
    facts = circumstances(torch.device("cpu"))
    found = json.loads(answer.getvalue())
    return {
        "command": COMMAND,
        "printed": printed.getvalue().replace("\u00a0", " "),
        "known": found["known"],
        "runs": found["runs"],
        "hardware": facts["device"],
        "versions": facts["versions"],
    }


def stored() -> dict[str, Any]:
    """What was measured last."""
    content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return content


def output(results: dict[str, Any]) -> str:
    """What the command prints, as Markdown; where it trains something else by now, that is said."""
    printed = f"```text\n{results['printed'].rstrip()}\n```"
    return f"{printed}\n\n{OUTDATED}" if digits_outdated(results) else printed


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    RESULTS.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n", "utf-8")
