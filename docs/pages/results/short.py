"""What a reader in a hurry should know, right below the first table of docs/results.md."""

from collections.abc import Iterator, Sequence

from noiselimit.reproduce.cell_result import CellResult
from noiselimit.reproduce.paper import LABELS
from noiselimit.reproduce.studies import STUDIES
from pages.results.claims import AT_LEAST, on_mnist
from pages.results.numbers import DETAILS, LIMITS, NAMES, NOT_REACHED, Measured, hours_text, signed
from pages.results.repeats import chosen_otherwise
from pages.results.times import AUTHORS, Empty, author_ratio, hours_of


def in_short(measured: Measured, empty: Sequence[Empty]) -> str:
    """What agrees with the paper, what does not, what is missing and what it cost."""
    return "\n".join(
        filter(None, [_mnist(measured), *_others(measured), _missing(measured, empty), _cost(measured)])
    )


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
        f"[what lies behind]({DETAILS}#cells-below-the-papers). LIMIT is best in {_wins(measured)}."
    )


def _wins(measured: Measured) -> str:
    """'11 of 12 problems': of those where it was compared with others."""
    problems = {(cell.data, cell.noise, cell.p, cell.n) for cell in measured.results if cell.data == "mnist"}
    compared = [own for problem in problems if len(own := measured.of(*problem)) > 1]
    best = [max(own, key=lambda result: result.accuracy).cell.method for own in compared]
    return f"{sum(method in LIMITS for method in best)} of {len(best)} problems"


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


def _missing(measured: Measured, empty: Sequence[Empty]) -> str:
    if not empty:
        return ""
    counts = [
        (NAMES[data], sum(cell not in measured.results for cell in study.cells))
        for data, study in STUDIES.items()
    ]
    listed = ", ".join(f"{count} of {name}" for name, count in counts if count)
    hours = hours_of([one.hours for one in empty])
    return f"- **Without a result:** {listed}; about {hours_text(hours)} on an H200 ([list](#not-run-yet))."


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
    return f"{LABELS[result.cell.method]} at {result.cell.problem}"
