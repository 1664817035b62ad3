"""Whether the fast path's results are those of the plain one: a table of docs/performance.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from noiselimit.cli.bench_tables import NONE
from noiselimit.report.wording import plain
from pages.performance.words import markdown, measured_on

MEASURES = {"test_accuracy": ("test accuracy, %", 100, 2), "gap_auc": ("gap ROC AUC", 1, 4)}
Content = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """One measure of one method on the plain path and on a fast one, a value for each seed that has both."""

    path: str
    method: str
    beta: float | None
    label: str
    digits: int
    slow: Sequence[float]
    fast: Sequence[float]

    @property
    def name(self) -> str:
        return f"{self.path}: {self.method}, {self.label.removesuffix(', %')}"

    @property
    def differences(self) -> list[float]:
        return [fast - slow for slow, fast in zip(self.slow, self.fast, strict=True)]

    @property
    def within(self) -> bool | None:
        """|mean difference| ≤ 2 √(s₁²/n + s₂²/n); None: one seed has no spread."""
        if len(self.slow) < 2:
            return None
        error = sqrt((stdev(self.slow) ** 2 + stdev(self.fast) ** 2) / len(self.slow))
        return abs(fmean(self.differences)) <= 2 * error

    @property
    def beyond_own_error(self) -> bool:
        """|mean difference| > 2 standard errors of the paired differences."""
        own = self.differences
        return len(own) > 1 and abs(fmean(own)) > 2 * stdev(own) / sqrt(len(own))

    @property
    def side(self) -> str | None:
        """On which side of the plain path the fast one is with every seed, or None."""
        own = self.differences
        if len(own) < 2:
            return None
        return "higher" if min(own) > 0 else "lower" if max(own) < 0 else None

    def cells(self) -> list[str]:
        own, root = self.differences, sqrt(len(self.slow))
        error = stdev(own) / root if len(own) > 1 else None
        return [
            self.path,
            self.method,
            NONE if self.beta is None else plain(self.beta),
            self.label,
            *(_mean(values, self.digits) for values in (self.slow, self.fast)),
            f"{fmean(own):+.{self.digits}f}".replace("-", "−") + _plus_minus(error, self.digits),
            {True: "yes", False: "no", None: NONE}[self.within],
        ]


def table(results: Content) -> str:
    """The paths' means over seeds, their paired differences, and what these do and do not show."""
    found = _comparisons(results)
    columns = ["path", "method", "β", "measure", "plain", "this path", "paired difference", "within"]
    seeds = len(results["rows"][0]["seeds"])
    return (
        f"{markdown(columns, [each.cells() for each in found], words=4)}\n\n"
        f"Plain, this path: mean ± standard deviation over {seeds} seeds, the same for all paths; paired "
        f"difference: this path − plain seed by seed, mean ± standard error. Noise {results['noise']}, "
        f"{results['epochs']} epochs; {_paths(results)}. Measured on {measured_on(results)}.\n\n"
        f"Within: |mean paired difference| ≤ 2·√(s₁²/n + s₂²/n), s₁ and s₂ the two standard deviations, "
        f"as if seeds were not shared. {_verdict(found)}{_one_side(found, seeds)} Differences smaller than "
        "these errors would not show."
    )


def _comparisons(results: Content) -> list[Comparison]:
    pairs: dict[tuple[str, float | None], dict[str, Content]] = {}
    for row in results["rows"]:
        pairs.setdefault((row["method"], row["beta"]), {})[row["path"]] = row
    found = []
    for (method, beta), paths in pairs.items():
        slow = paths["plain"]
        for path, fast in paths.items():
            if slow["seeds"] != fast["seeds"]:
                raise ValueError(f"precision: the paths of {method} have different seeds: measure again.")
            for name, (label, scale, digits) in MEASURES.items():
                both = zip(slow[name], fast[name], strict=True)
                known = [(scale * a, scale * b) for a, b in both if a is not None and b is not None]
                if known and path != "plain":
                    found.append(Comparison(path, method, beta, label, digits, *zip(*known, strict=True)))
    return sorted(found, key=lambda each: each.path)


def _verdict(found: Sequence[Comparison]) -> str:
    judged = [each for each in found if each.within is not None]
    outside = [each.name for each in judged if not each.within]
    beyond = [each.name for each in judged if each.beyond_own_error]
    said = f"{len(judged) - len(outside)} of {len(judged)} rows are within"
    said += f"; not within: {'; '.join(outside)}." if outside else "."
    return said + (f" Beyond two standard errors of their own: {'; '.join(beyond)}." if beyond else "")


def _one_side(found: Sequence[Comparison], seeds: int) -> str:
    """The rows in which every seed moved the same way, and how often chance alone does that."""
    if seeds < 2:
        return ""
    rows = [f"{each.name} ({each.side})" for each in found if each.side]
    if not rows:
        return " In no row are all seeds on one side."
    return (
        f" All seeds are on one side in: {'; '.join(rows)}; by chance alone, in 1 row of {2 ** (seeds - 1)}."
    )


def _mean(values: Sequence[float], digits: int) -> str:
    return f"{fmean(values):.{digits}f}" + _plus_minus(stdev(values) if len(values) > 1 else None, digits)


def _plus_minus(spread: float | None, digits: int) -> str:
    return "" if spread is None else f" ± {spread:.{digits}f}"


def _paths(results: Content) -> str:
    """Which activations the two had, where the file says so."""
    used: dict[str, list[str]] = {}
    for row in results["rows"]:
        used.setdefault(row["path"], []).append(row.get("precision", "of a type not recorded"))
    return ", ".join(
        f"{path}: activations {' or '.join(dict.fromkeys(types))}" for path, types in sorted(used.items())
    )
