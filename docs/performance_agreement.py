"""Whether the fast path's results are those of the plain one: a table of docs/performance.md."""

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

from performance_words import markdown, measured_on

from noiselimit.cli.bench_tables import NONE
from noiselimit.report.wording import plain

MEASURES = {"test_accuracy": ("test accuracy, %", 100, 2), "gap_auc": ("gap ROC AUC", 1, 4)}
Content = Mapping[str, Any]


def table(results: Content) -> str:
    """Means and standard deviations over seeds of both paths, and whether they differ by more than that."""
    pairs: dict[tuple[str, float | None], dict[str, Content]] = {}
    for row in results["rows"]:
        pairs.setdefault((row["method"], row["beta"]), {})[row["path"]] = row
    lines, outside, compared = [], [], 0
    for (method, beta), paths in pairs.items():
        slow, fast = paths["plain"], paths["fast"]
        if slow["seeds"] != fast["seeds"]:
            raise ValueError(f"precision.json: the paths of {method} have different seeds: measure again.")
        for name, (label, scale, digits) in MEASURES.items():
            values = [[each for each in row[name] if each is not None] for row in (slow, fast)]
            if not all(values):
                continue
            means = [scale * fmean(each) for each in values]
            spreads = [scale * stdev(each) if len(each) > 1 else None for each in values]
            difference = means[1] - means[0]
            widest = max((spread for spread in spreads if spread is not None), default=None)
            within = None if widest is None else abs(difference) <= widest
            compared += within is not None
            if within is False:
                outside.append(f"{method}, {label.removesuffix(', %')}")
            lines.append(
                [
                    method,
                    NONE if beta is None else plain(beta),
                    label,
                    *(_mean(mean, spread, digits) for mean, spread in zip(means, spreads, strict=True)),
                    f"{difference:+.{digits}f}".replace("-", "−"),
                    {True: "yes", False: "no", None: NONE}[within],
                ]
            )
    columns = ["method", "β", "measure", "plain", "fast", "fast − plain", "within"]
    seeds = results["rows"][0]["seeds"]
    verdict = f"{compared - len(outside)} of {compared} comparisons are within"
    if outside:
        verdict += f"; not within: {'; '.join(outside)}"
    return (
        f"{markdown(columns, lines, words=3)}\n\n"
        f"Mean ± standard deviation over {len(seeds)} seeds, the same for both paths; noise "
        f"{results['noise']}, {results['epochs']} epochs; {_paths(results)}. Within: the means "
        f"differ by no more than the larger standard deviation. {verdict}. So few seeds show no difference "
        "smaller than that. Measured on "
        f"{measured_on(results)}."
    )


def _mean(mean: float, spread: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def _paths(results: Content) -> str:
    """Which activations the two had, where the file says so."""
    used: dict[str, list[str]] = {}
    for row in results["rows"]:
        used.setdefault(row["path"], []).append(row.get("precision", "of a type not recorded"))
    return ", ".join(
        f"{path}: activations {' or '.join(dict.fromkeys(types))}" for path, types in sorted(used.items())
    )
