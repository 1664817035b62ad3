"""What a reader in a hurry should know, right below the first table of docs/results.md."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.estimate import known_total
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import STUDIES
from pages.results.claims import AT_LEAST, on_mnist
from pages.results.numbers import DETAILS, LIMITS, NAMES, NOT_REACHED, Measured, hours_text, signed
from pages.results.repeats import chosen_otherwise
from pages.results.times import AUTHORS, Empty, author_ratio


def in_short(measured: Measured, empty: Sequence[Empty]) -> str:
    """What agrees with the paper, what does not, what is missing and what it cost."""
    return "\n".join(filter(None, [_mnist(measured), *_others(measured), _missing(empty), _cost(measured)]))


def _mnist(measured: Measured) -> str:
    mnist = on_mnist(measured)
    if not mnist.run:
        return ""
    fair = mnist.below_by_them
    equal = "" if fair is None else f" ({len(mnist.run) - len(fair)} by equal seeds)"
    others = sum(bool(result.meets) for result in mnist.others)
    far = min([*mnist.run, *mnist.others], key=_difference)
    return (
        f"- **MNIST:** {len(mnist.run) - len(mnist.below)} of {len(mnist.run)} cells of LIMIT{equal} and "
        f"{others} of {len(mnist.others)} of other methods are not below the paper's by more than chance. "
        f"The farthest below is {_at(far)}, {signed(_difference(far))} points; "
        f"[what lies behind]({DETAILS}#cells-below-the-papers). LIMIT is {_wins(measured)}."
    )


def _wins(measured: Measured) -> str:
    """'best in 11 of 12 problems, in 5 of …', of those where it was compared with others."""
    problems = {(cell.data, cell.noise, cell.p, cell.n) for cell in measured.results if cell.data == "mnist"}
    compared = [own for problem in problems if len(own := measured.of(*problem)) > 1]
    pairs = [(_best(own, of_limit=True), _best(own, of_limit=False)) for own in compared]
    ahead = [(ours, other) for ours, other in pairs if ours and (not other or ours.accuracy > other.accuracy)]
    clear = sum(other is None or _is_clear(ours, other) for ours, other in ahead)
    return (
        f"best in {len(ahead)} of {len(compared)} problems, in {clear} of these by more than two standard "
        "errors of the difference"
    )


def _best(results: Sequence[CellResult], *, of_limit: bool) -> CellResult | None:
    own = [result for result in results if (result.cell.method in LIMITS) == of_limit]
    return max(own, key=lambda result: result.accuracy, default=None)


def _is_clear(ours: CellResult, other: CellResult) -> bool:
    error = sqrt(sum(result.std**2 / len(result.seeds) for result in (ours, other)))
    return ours.accuracy - other.accuracy > 2 * error


def _others(measured: Measured) -> Iterator[str]:
    for data in STUDIES:
        results = [result for cell, result in measured.results.items() if cell.data == data]
        if data != "mnist" and results:
            differences = [_difference(result) for result in results]
            single = ", one seed each" if all(len(result.seeds) == 1 for result in results) else ""
            yield (
                f"- **{NAMES[data]}:** {len(results)} of {len(STUDIES[data].cells)} cells{single}, "
                f"{signed(min(differences))} to {signed(max(differences))} points from the paper's."
                f"{''.join(_claims(results, measured))}"
            )


def _claims(results: Sequence[CellResult], measured: Measured) -> Iterator[str]:
    for result in results:
        wanted = AT_LEAST.get(result.cell)
        if wanted is not None:
            missed = "" if result.accuracy >= wanted else f", {NOT_REACHED}"
            again = chosen_otherwise(result, measured)
            by_luck = again is not None and again.accuracy < wanted <= result.accuracy
            how = ", by a second run only ([see](#against-the-papers-claims))" if by_luck else ""
            yield f" {_at(result)} has {result.accuracy:.1f} %, wanted {wanted:.1f} %{missed}{how}."


def _missing(empty: Sequence[Empty]) -> str:
    if not empty:
        return ""
    counts = Counter(one.data for one in empty for _ in one.cells)
    listed = ", ".join(f"{count} of {NAMES[data]}" for data, count in counts.items())
    hours = known_total(one.hours for one in empty)
    return (
        f"- **Without a result:** {listed}; about {hours_text(hours)} on an H200 ([list](#not-run-yet)); "
        "of cells without noise, which two tables of CIFAR-10 share, each once."
    )


def _cost(measured: Measured) -> str:
    runs = sum(map(len, measured.rows.values()))
    if not runs:
        return "No run yet."
    cells = sum(len(study.cells) for study in STUDIES.values())
    seconds = sum(row.seconds for rows in measured.rows.values() for row in rows)
    ratios = " and ".join(
        f"{ratio:.0f} × ({NAMES[data]})" for data in AUTHORS if (ratio := author_ratio(data, measured))
    )
    slower = (
        f" For runs of LIMIT the author's code, timed one run at a time, takes {ratios} as long."
        if ratios
        else ""
    )
    return (
        f"- **Time:** {runs:,} runs in {hours_text(seconds / 3600)}, figures and causes aside, for "
        f"{len(measured.results)} of the paper's {cells} cells.{slower} ([details](#how-long-it-took))"
    )


def _difference(result: CellResult) -> float:
    return result.shown_difference or 0.0


def _at(result: CellResult) -> str:
    """'CE with 50 % uniform noise and 1,000 examples'."""
    cell = result.cell
    size = f" and {cell.n:,} examples" if cell.data == "mnist" else ""
    return f"{LABELS[cell.method]} with {100 * (cell.p or 0):.0f} % {cell.noise} noise{size}"
