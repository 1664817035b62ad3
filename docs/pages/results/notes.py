"""What differs from the paper's protocol, under the tables of docs/results.md."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from noiselimit.reproduce.cell_result import CellResult, Runs
from noiselimit.reproduce.studies import Cell
from pages.results.numbers import DETAILS, value_text
from pages.results.places import places_text


def notes(results: Sequence[CellResult], failed: Mapping[Cell, Runs]) -> str:
    """What differs from the paper's protocol, and in which cells; `failed` have runs, but no result."""
    if not results and not failed:
        return "No run yet."
    said = [
        *_by_most(results, lambda result: f"At most {result.epochs} epochs"),
        *_by_most(results, lambda result: f"Trained in {' and '.join(result.precisions)}"),
        *_by_most(results, lambda result: _seeds_text(result.seeds)),
        *([BY_BOOTSTRAP] if any(result.std_by == "bootstrap" for result in results) else []),
        *(
            f"{what}: {_listed(where, results)}."
            for what, is_true in OF_SOME.items()
            if (where := [result for result in results if is_true(result)])
        ),
        *_of_runs(results, failed),
    ]
    return " ".join(said)


TABLES = f"[tables of what each gave]({DETAILS}#values-that-were-run)"
BY_BOOTSTRAP = (
    "†: Standard deviations of single seeds are by 1000 bootstrap resamples of the test examples, and do not "
    "know what another split, noise and initial weights would change."
)
OF_SOME: Mapping[str, Callable[[CellResult], bool]] = {
    f"Fewer values of the grid than the paper's were run, as {TABLES} say": (
        lambda result: result.values_run < result.values
    ),
    f"Not every value of the grid had as many epochs as the chosen one, as {TABLES} say": (
        lambda result: result.is_screened
    ),
}


def _by_most(results: Sequence[CellResult], what: Callable[[CellResult], str]) -> list[str]:
    """What is true of the most cells, and where something else is."""
    counts = Counter(map(what, results)).most_common()
    others = {text: [result for result in results if what(result) == text] for text, _ in counts[1:]}
    return [f"{text}." for text, _ in counts[:1]] + [
        f"{text}: {_listed(where)}." for text, where in sorted(others.items())
    ]


def _of_runs(results: Sequence[CellResult], failed: Mapping[Cell, Runs]) -> list[str]:
    """Runs that failed, and values that could not be compared: each is named."""
    without = {result.cell: _runs_text(result.failed) for result in results if result.failed}
    without |= {cell: _runs_text(runs) for cell, runs in failed.items()}
    later = {result.cell: _runs_text(result.broken_off) for result in results if result.broken_off}
    lacking = {
        result.cell: "; ".join(map(value_text, result.lacking)) for result in results if result.lacking
    }
    short = {result.cell: "; ".join(map(value_text, result.short)) for result in results if result.short}
    said = {
        "The value of the grid was chosen by fewer seeds than the mean is over, since some values lack the "
        "others": short,
        "Training failed in its first epoch, so that these runs have no result, and their values of a grid "
        "are not compared with others": without,
        "Training failed later, and the best epoch before that counts": later,
        "Values of the grid that lack seeds of the others were not compared": lacking,
    }
    return [f"{what}: {places_text(details)}." for what, details in said.items() if details]


def _seeds_text(seeds: Sequence[int]) -> str:
    """'Seeds 0, 1, 2'."""
    return f"Seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}"


def _runs_text(runs: Runs) -> str:
    """'β 10 seeds 0, 2; β 30 seed 1'."""
    seeds: dict[str, list[int]] = {}
    for value, seed in sorted(runs, key=lambda run: run[1]):
        seeds.setdefault(value, []).append(seed)
    return "; ".join(
        f"{value_text(value)} {_seeds_text(own).lower()}".strip() for value, own in seeds.items()
    )


def _listed(where: Sequence[CellResult], everything: Sequence[CellResult] = ()) -> str:
    if len(where) == len(everything):
        return "all cells"
    return places_text({result.cell: "" for result in where})
