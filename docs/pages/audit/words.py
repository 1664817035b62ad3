"""What was run, and what to know of it: sentences beside the tables of docs/audit.md."""

from collections.abc import Mapping, Sequence
from typing import Any

from pages.audit.verdict import FAST, NAMES, OURS, clock

Content = Mapping[str, Any]
OUTDATED = (
    "These rows were measured before the audit got its present settings, so they are of an earlier audit: "
    "measure them again."
)
SELECTED = (
    "The score, the methods, β and epochs of the audit were selected on these very data, with such noise: "
    "other data say better what to expect of it."
)


def circumstances_sentence(contents: Sequence[Content]) -> str:
    """What was run, where: for several data sets, measured on one kind of device, together."""
    several = len(contents) > 1
    timed = (
        "Seconds are those of training"
        if clock(contents[0]) == "seconds"
        else "Seconds are those that training computed, of all threads (others used the machine as well)"
    )
    settings = "; ".join(_settings(content["rows"][0], named=several) for content in contents)
    places = dict.fromkeys(map(_measured, contents))
    return f"Mean ± standard deviation over seeds; {settings}. {timed}. Measured on {'; '.join(places)}."


def _settings(row: Mapping[str, Any], *, named: bool) -> str:
    training = row["training"]
    name = f"{row['problem']['data']}: " if named else ""
    return (
        f"{name}{row['n']:,} examples, {training['epochs']} epochs of {training['network']} in batches of "
        f"{training['batch_size']}, {training['optimiser']} with learning rate "
        f"{training['learning_rate']:g}, augmentation {training['augmentation']}, {training['precision']}, "
        f"the same for every tool{_audits(row)}"
    )


def _measured(content: Content) -> str:
    rows, versions, where = content["rows"], content["versions"], content["device"]
    commits = sorted({f"{each['commit'] or 'unknown'}"[:10] for each in rows})
    if content["device_type"] == "cpu":
        where += f", {content['threads']} {'thread' if content['threads'] == 1 else 'threads'}"
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{where} ({named}; commit {', '.join(commits)}; {rows[0]['date'][:10]})"


def _audits(row: Mapping[str, Any]) -> str:
    """What ours train with these settings, where that is known."""
    said = []
    for method in (OURS, FAST):
        runs = row["methods"].get(method, {}).get("trained")
        if runs:
            names = " and ".join(f"{run['method']} (β {run['beta']:g})" for run in runs)
            said.append(f"{NAMES[method]} trains {names} for {runs[0]['epochs']} epochs")
    return f"; {', '.join(said)}" if said else ""
