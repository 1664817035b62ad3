"""How figures of speed are written in docs/performance.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from noiselimit.bench.notices import entry_name, told_notices
from noiselimit.cli.bench_tables import NONE, number

WORK = {
    "mnist-cohort": "MNIST CNN, LIMIT-L, cohort of the best K",
    "mnist-one": "MNIST CNN, LIMIT-L, one run",
    "cifar-limit": "CIFAR-10, two ResNet-34, LIMIT-L, flip-crop, one run",
    "cifar-ce": "CIFAR-10, ResNet-34, CE, flip-crop, one run",
    "set-up-cold": "set-up before the first step, nothing compiled before",
    "set-up-warm": "the same, with compiled kernels kept from before",
    "digits-cohort": "digits, LIMIT-L: a cohort over the same runs one after another",
    "digits-step": "digits: an epoch of LIMIT-L over one of CE",
}

CHANGED = {True: " with changes", False: "", None: ", not checked"}


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table whose first `words` columns hold words and the others figures."""
    lines = [columns, ["---"] * words + ["---:"] * (len(columns) - words), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def seconds(value: float | None) -> str:
    return NONE if value is None else f"{number(value)} s"


def times(value: float | None) -> str:
    return NONE if value is None else f"{number(value)} ×"


def count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def large(value: float) -> str:
    """2.1e9 → `2.1 G`; operations and bytes come in such numbers."""
    for power, letter in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**power:
            return f"{number(value / 10**power)} {letter}"
    return number(value)


def measured_on(content: Mapping[str, Any]) -> str:
    """`H200 (noiselimit 0.1.0, torch 2.13.0, …; commit 0123456789; 2026-01-01)`."""
    facts = [", ".join(f"{name} {version}" for name, version in (content.get("versions") or {}).items())]
    if content.get("commit"):
        facts.append(f"commit {content['commit'][:10]}{CHANGED[content.get('changed')]}")
    if content.get("date"):
        facts.append(content["date"][:10])
    known = "; ".join(fact for fact in facts if fact)
    where = f"{content['device']} ({known})" if known else str(content["device"])
    origin = content.get("origin")  # of a file that its command did not write as it stands
    return f"{where}. Origin of the file: {origin}" if origin else where


def caveats(content: Mapping[str, Any]) -> list[str]:
    """What a reader should know before quoting from a bench."""
    said = []
    if content["quick"]:
        said.append("Measured with `--quick`: the sizes are small, so these are no figures to quote.")
    if not content["finished"]:
        said.append("The measurement was interrupted before its end.")
    for entry in [*content["rows"], *content["points"]]:
        if "failure" in entry:
            said.append(f"{entry_name(entry)} failed: {entry['failure']}.")
    return [*said, *told_notices(content)]
