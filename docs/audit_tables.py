"""Who finds wrong labels: the generated parts of docs/audit.md, from every results/detection-*.json."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from audit_verdict import (
    FAST,
    NAMES,
    OURS,
    best_peer,
    clock,
    cost_sentence,
    problem_name,
    ratio,
    verdict,
    with_noise,
)
from performance_words import markdown

from noiselimit.bench.detection.result import current_plans, read_detection
from noiselimit.bench.detection.summary import Figure, Summary, summarise
from noiselimit.cli.bench_tables import NONE
from noiselimit.report.wording import percent

RESULTS = Path(__file__).resolve().parent.parent / "results"
Content = Mapping[str, Any]
OUTDATED = (
    "These rows were measured before the audit got its present settings, so they are of an earlier audit: "
    "measure them again."
)
MISSING = "Not measured yet: results/detection-digits.json."


def stored(folder: Path = RESULTS) -> list[Content]:
    """What was measured so far, one for every file and data set in it; of real sizes only."""
    found = [read_detection(path) for path in sorted(folder.glob("detection-*.json"))]
    return [
        {**content, "rows": [row for row in content["rows"] if row["problem"]["data"] == name]}
        for content in found
        if not content["quick"]
        for name in dict.fromkeys(row["problem"]["data"] for row in content["rows"])
    ]


def blocks(contents: Sequence[Content]) -> dict[str, str]:
    """Name → the text between its markers."""

    def section(make: Callable[[Content], str]) -> str:
        return "\n\n".join(map(make, contents)) if contents else MISSING

    return {
        "detection": section(overview),
        "detection-clean": section(clean_table),
        "detection-seen": section(seen_table),
        "detection-tables": section(tables),
    }


def overview(content: Content) -> str:
    """Ours beside the best peer on every problem with wrong labels, the verdict, and what was run."""
    summaries = summarise(content["rows"])
    which = clock(content)
    rows = []
    for summary in with_noise(summaries):
        cells = [problem_name(summary), percent(summary.rows[0]["wrong"])]
        for figure in ("auroc", "auprc"):
            peer = best_peer(summary, figure)
            best = str(summary.best(figure))
            for method in (OURS, FAST, peer):
                found = summary.methods.get(method or "", {}).get(figure)
                cells.append(_bold(_figure(found), _figure(summary.methods[best][figure])))
            cells[-1] += f" ({NAMES[peer]})" if peer else ""
        cells += [_times(ratio(summary, method, which)) for method in (OURS, FAST)]
        rows.append(cells)
    columns = (
        "data and noise, wrong labels, AUROC: audit, `--fast`, best peer, AUPRC: audit, `--fast`, best peer, "
        "time ÷ cross-validation: audit, `--fast`"
    )
    return "\n\n".join(
        [
            markdown(columns.split(", "), rows),
            f"{verdict(summaries)} {cost_sentence(summaries, which)}",
            circumstances_sentence(content),
            *([] if content.get("plans") == current_plans() else [OUTDATED]),
        ]
    )


def tables(content: Content) -> str:
    """Every figure of every tool, a table for each problem."""
    which = clock(content)
    sections = [
        f"**{problem_name(summary)}**, seeds {', '.join(map(str, summary.seeds))}\n\n{_table(summary, which)}"
        for summary in with_noise(summarise(content["rows"]))
    ]
    return "\n\n".join([*sections, *_threshold_sentence(content, which)])


def _threshold_sentence(content: Content, which: str) -> list[str]:
    """What AUM's flags take beside its ranking."""
    took = [
        row["trainings"]["threshold"][which] for row in content["rows"] if "threshold" in row["trainings"]
    ]
    if not took:
        return []
    return [
        "The seconds of AUM are those of its ranking; its own threshold, behind its F1 and estimate, takes "
        f"two trainings more with examples of a class of their own, {fmean(took):.1f} seconds on average."
    ]


def _table(summary: Summary, which: str) -> str:
    best = {
        **{figure: summary.best(figure) for figure in ("auroc", "auprc", "f1")},
        "noise_rate_error": _least(summary, "noise_rate_error"),
        which: _least(summary, which),
        "peak_memory": _least(summary, "peak_memory"),
    }
    writing: dict[str, Callable[[Figure | None], str]] = {
        **dict.fromkeys(("auroc", "auprc", "f1"), _figure),
        "noise_rate_error": _signed,
        which: _seconds,
        "peak_memory": _megabytes,
    }
    leading = {
        name: write(summary.methods[first][name] if (first := best[name]) is not None else None)
        for name, write in writing.items()
    }
    rows = [
        [
            NAMES[method],
            *(_bold(write(found.get(name)), leading[name]) for name, write in writing.items()),
        ]
        for method, found in summary.methods.items()
    ]
    columns = "tool, AUROC, AUPRC, F1, estimated less true noise rate, seconds, peak memory"
    return markdown(columns.split(", "), rows)


def clean_table(content: Content) -> str:
    """What is flagged where no label was made wrong."""
    summaries = [summary for summary in summarise(content["rows"]) if summary.best("auroc") is None]
    rows = [
        [summary.data, NAMES[method], _percents(found["flagged"])]
        for summary in summaries
        for method, found in summary.methods.items()
        if "flagged" in found and "-normalized-margin-" not in method  # whose filter is the same
    ]
    return markdown(["data", "tool", "flagged with no label made wrong"], rows, words=2) if rows else NONE


def seen_table(content: Content) -> str:
    """AUROC of our default audit among examples that it trained on, and among those held out."""
    rows = [
        [
            problem_name(summary),
            *(_figure(summary.methods[OURS].get(name)) for name in ("auroc_seen", "auroc_held_out")),
        ]
        for summary in with_noise(summarise(content["rows"]))
        if OURS in summary.methods
    ]
    return markdown(["data and noise", "AUROC, seen in training", "AUROC, held out"], rows)


def circumstances_sentence(content: Content) -> str:
    """What was run, where."""
    row = content["rows"][0]
    training, versions = row["training"], content["versions"]
    commits = sorted({f"{each['commit'] or 'unknown'}"[:10] for each in content["rows"]})
    where = content["device"]
    if content["device_type"] == "cpu":
        where += f", {content['threads']} {'thread' if content['threads'] == 1 else 'threads'}"
    timed = (
        "Seconds are those of training"
        if clock(content) == "seconds"
        else "Seconds are those that training computed, of all threads (others used the machine as well)"
    )
    return (
        f"Mean ± standard deviation over seeds; {row['n']:,} examples, {training['epochs']} epochs of "
        f"{training['network']} in batches of {training['batch_size']}, {training['optimiser']} with "
        f"learning rate {training['learning_rate']:g}, augmentation {training['augmentation']}, "
        f"{training['precision']}, the same for every tool{_audits(row)}. {timed}. Measured on {where} "
        f"({', '.join(f'{name} {version}' for name, version in versions.items())}; commit "
        f"{', '.join(commits)}; {row['date'][:10]})."
    )


def _audits(row: Mapping[str, Any]) -> str:
    """What ours train with these settings, where that is known."""
    said = []
    for method in (OURS, FAST):
        runs = row["methods"].get(method, {}).get("trained")
        if runs:
            names = " and ".join(f"{run['method']} (β {run['beta']:g})" for run in runs)
            said.append(f"{NAMES[method]} trains {names} for {runs[0]['epochs']} epochs")
    return f"; {', '.join(said)}" if said else ""


def _least(summary: Summary, figure: str) -> str | None:
    known = {method: abs(found[figure].mean) for method, found in summary.methods.items() if figure in found}
    return min(known, key=lambda method: known[method], default=None)


def _bold(text: str, leading: str) -> str:
    """Bold where the mean is the leading one, or reads like it."""
    return f"**{text}**" if text != NONE and text.split()[0] == leading.split()[0] else text


def _figure(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:.4f} ± {figure.deviation:.4f}"


def _signed(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:+.3f} ± {figure.deviation:.3f}"


def _percents(figure: Figure) -> str:
    return f"{100 * figure.mean:.2f} ± {100 * figure.deviation:.2f} %"


def _seconds(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean:.1f} ± {figure.deviation:.1f}"


def _megabytes(figure: Figure | None) -> str:
    return NONE if figure is None else f"{figure.mean / 1e6:,.0f} MB"


def _times(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"
