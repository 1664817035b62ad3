"""Which value of a grid noisy validation prefers, by seeds that the compared values have in common."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from noiselimit.reproduce.rows import ResultRow


@dataclass(frozen=True)
class Comparison:
    """Values of a grid, the best first, and by what."""

    ranked: tuple[str, ...]
    seeds: tuple[int, ...]
    """All ranked values have these."""
    lacking: tuple[str, ...]
    """Values that have results, but not of all these seeds: they were not compared."""


def compare(by_value: Mapping[str, Sequence[ResultRow]]) -> Comparison | None:
    """The values by mean validation accuracy, then loss; None where no run came to a result.

    A value has one row of each seed, as `cell_rows` finds them: a second would count its seed twice.
    A value of which a run failed before its first epoch was over is not compared, unless there is none else.
    """
    usable = {value: [row for row in rows if row.has_result] for value, rows in by_value.items()}
    usable = {value: rows for value, rows in usable.items() if rows}
    sound = {value: rows for value, rows in usable.items() if len(rows) == len(by_value[value])} or usable
    if not sound:
        return None
    seeds = common_seeds({value: {row.seed for row in rows} for value, rows in sound.items()})
    means: dict[str, tuple[float, float]] = {}
    for value, rows in sound.items():
        counted = [row for row in rows if row.seed in seeds]
        if len(counted) == len(seeds):
            accuracy = fmean(row.validation_accuracy or 0.0 for row in counted)
            means[value] = -accuracy, fmean(row.validation_loss or 0.0 for row in counted)
    ranked = sorted(means, key=lambda value: means[value])
    return Comparison(tuple(ranked), seeds, tuple(value for value in sound if value not in means))


def common_seeds(by_value: Mapping[str, Collection[int]]) -> tuple[int, ...]:
    """The largest set of seeds that the most values have, of equals the one with the lowest seeds.

    The most values first, so that none is left out for the sake of more seeds of others.
    """
    holders = {
        seed: [value for value, seeds in by_value.items() if seed in seeds]
        for seed in {seed for seeds in by_value.values() for seed in seeds}
    }
    most = max(len(values) for values in holders.values())
    shared = (
        tuple(sorted(set[int].intersection(*(set(by_value[value]) for value in values))))
        for values in holders.values()
        if len(values) == most
    )
    return min(shared, key=lambda seeds: (-len(seeds), seeds))
