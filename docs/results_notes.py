"""What differs from the paper's protocol, under the tables of docs/results.md."""

from collections.abc import Sequence

from results_numbers import LABELS

from noiselimit.reproduce.cells import CellResult


def notes(results: Sequence[CellResult]) -> str:
    """What differs from the paper's protocol, said of every cell that it is true of."""
    if not results:
        return "No run yet."
    said = {
        "Standard deviations by 1000 bootstrap resamples of the test examples, since there is one seed": [
            result for result in results if result.std_by == "bootstrap"
        ],
        "Fewer values of the grid than the paper's were compared": [
            result for result in results if result.values_run < result.values
        ],
        "The values of the grid have no seed in common, and were compared over those that each has": [
            result for result in results if not result.compared_seeds
        ],
    }
    limits: dict[int, list[CellResult]] = {}
    for result in results:
        limits.setdefault(result.epochs, []).append(result)
    usual = max(limits, key=lambda limit: len(limits[limit]))
    said_of = [f"At most {usual} epochs."]
    for limit in sorted(limits):
        if limit != usual:
            said_of.append(f"At most {limit} epochs: {_listed(limits[limit])}.")
    screens: dict[int, list[CellResult]] = {}
    for result in results:
        if result.screen_epochs is not None:
            screens.setdefault(result.screen_epochs, []).append(result)
    for limit, where in sorted(screens.items()):
        said_of.append(
            f"Other values of the grid than the chosen one were compared after at most {limit} epochs: "
            f"{_listed(where, results)}."
        )
    said_of += [f"{what}: {_listed(where, results)}." for what, where in said.items() if where]
    return " ".join(said_of)


def _listed(where: Sequence[CellResult], everything: Sequence[CellResult] = ()) -> str:
    if len(where) == len(everything):
        return "all cells"
    found: dict[str, list[str]] = {}
    for result in where:
        found.setdefault(LABELS[result.cell.method], []).append(result.cell.problem)
    return "; ".join(f"{method} at {', '.join(problems)}" for method, problems in found.items())
