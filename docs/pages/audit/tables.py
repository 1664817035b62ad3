"""Who finds wrong labels: the generated parts of docs/audit.md, from every results/detection-*.json."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from noiselimit.bench.detection.made_data import MADE
from noiselimit.bench.detection.result import current_plans, read_detection
from noiselimit.bench.detection.summary import Figure, Summary, summarise
from noiselimit.cli.bench_tables import NONE
from noiselimit.report.wording import percent
from pages.audit.cost import cost_sentence, ratio
from pages.audit.figures import bold, megabytes, percents, score, seconds, signed, times
from pages.audit.memory import memory_table
from pages.audit.parts import parts_sentence, parts_table, recipes_sentence
from pages.audit.range import range_sentence
from pages.audit.verdict import (
    FAST,
    NAMES,
    OURS,
    ablation_sentence,
    best_peer,
    clock,
    problem_name,
    verdict,
    with_noise,
)
from pages.audit.words import OUTDATED, SELECTED, circumstances_sentence
from pages.folders import RESULTS
from pages.performance.words import markdown

Content = Mapping[str, Any]
MISSING = "Not measured yet: results/detection-digits.json."
MISSING_OTHER = "Not measured yet: results/detection-other.json."


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
    selected = [content for content in contents if _data(content) not in MADE]
    other = [content for content in contents if _data(content) in MADE]
    summaries = [summary for content in contents for summary in summarise(content["rows"])]
    together = [
        [each for each in other if clock(each) == which] for which in dict.fromkeys(map(clock, other))
    ]
    return {
        "detection": _joined([*(overview([content]) for content in selected), SELECTED] if selected else []),
        "detection-other": _joined(map(overview, together), MISSING_OTHER),
        "detection-clean": clean_table(summaries) if summaries else MISSING,
        "detection-range": _joined([range_sentence(summaries), *_outdated(contents)] if summaries else []),
        "detection-seen": _joined([*seen_sections(summaries), *_outdated(contents)] if summaries else []),
        "detection-tables": _joined(map(tables, contents)),
    }


def _joined(sections: Iterable[str], missing: str = MISSING) -> str:
    return "\n\n".join(sections) or missing


def _data(content: Content) -> str:
    return str(content["rows"][0]["problem"]["data"])


def overview(contents: Sequence[Content]) -> str:
    """Ours beside the best peer on every problem with wrong labels, the verdict, and what was run."""
    which = clock(contents[0])
    summaries = [summary for content in contents for summary in summarise(content["rows"])]
    columns = (
        "data and noise, wrong labels, AUROC: audit, `--fast`, best peer, AUPRC: audit, `--fast`, best peer, "
        "time ÷ cross-validation: audit, `--fast`"
    )
    said = [verdict(summaries), ablation_sentence(summaries), cost_sentence(summaries, which)]
    return "\n\n".join(
        [
            markdown(
                columns.split(", "), [_overview_row(summary, which) for summary in with_noise(summaries)]
            ),
            " ".join(sentence for sentence in said if sentence),
            circumstances_sentence(contents),
            *_outdated(contents),
        ]
    )


def _outdated(contents: Sequence[Content]) -> list[str]:
    """A sentence where any of it is of an earlier audit, and which."""
    old = [_data(content) for content in contents if content.get("plans") != current_plans()]
    if len(old) in (0, len(contents)):
        return [OUTDATED] if old else []
    return [OUTDATED.replace("These rows", f"The rows of {', '.join(old)}")]


def _overview_row(summary: Summary, which: str) -> list[str]:
    cells = [problem_name(summary), percent(fmean(row["wrong"] for row in summary.rows))]
    for figure in ("auroc", "auprc"):
        peer = best_peer(summary, figure)
        shown = [summary.methods.get(method or "", {}).get(figure) for method in (OURS, FAST, peer)]
        leading = score(max((each for each in shown if each), key=lambda each: each.mean, default=None))
        cells += [bold(score(found), leading) for found in shown]
        cells[-1] += f" ({NAMES[peer]})" if peer else ""
    return cells + [times(ratio(summary, method, which)) for method in (OURS, FAST)]


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
        return [
            "AUM's own threshold, behind its F1 and estimate, takes two trainings more, left out for time."
        ]
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
        **dict.fromkeys(("auroc", "auprc", "f1"), score),
        "noise_rate_error": signed,
        which: seconds,
        "peak_memory": megabytes,
    }
    leading = {
        name: write(summary.methods[first][name] if (first := best[name]) is not None else None)
        for name, write in writing.items()
    }
    rows = [
        [
            NAMES[method],
            *(bold(write(found.get(name)), leading[name]) for name, write in writing.items()),
        ]
        for method, found in summary.methods.items()
    ]
    columns = "tool, AUROC, AUPRC, F1, estimated less true noise rate, seconds, peak memory"
    return markdown(columns.split(", "), rows)


def clean_table(summaries: Sequence[Summary]) -> str:
    """What is flagged where no label was made wrong."""
    rows = [
        [summary.data, NAMES[method], percents(found["flagged"])]
        for summary in summaries
        if summary.best("auroc") is None
        for method, found in summary.methods.items()
        if "flagged" in found and "-normalized-margin-" not in method  # whose filter is the same
    ]
    return markdown(["data", "tool", "flagged with no label made wrong"], rows, words=2) if rows else NONE


def seen_sections(summaries: Sequence[Summary]) -> list[str]:
    """Figures of our audits by part, what was trained, and what they say."""
    said = [
        parts_table(summaries),
        recipes_sentence(summaries),
        parts_sentence(summaries),
        memory_table(summaries),
    ]
    return [each for each in said if each]


def _least(summary: Summary, figure: str) -> str | None:
    known = {method: abs(found[figure].mean) for method, found in summary.methods.items() if figure in found}
    return min(known, key=lambda method: known[method], default=None)
