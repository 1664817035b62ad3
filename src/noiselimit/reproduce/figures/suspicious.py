"""Fig. 4 and supplement: the examples of the original, uncorrupted data whose labels look most wrong."""

from collections.abc import Sequence

from noiselimit.reproduce.figures.best_limit import limit_cells
from noiselimit.reproduce.figures.figure import Figure, tasks_of, wanted_by
from noiselimit.reproduce.figures.kept import Kept, best
from noiselimit.reproduce.figures.suspects import KIND, read_suspects

EACH = {"mnist": 8, "cifar10": 8, "clothing1m": 16}
"""Data set → pictures per class."""


def _caption(kept: Sequence[Kept]) -> str:
    one = best(kept)
    assert one is not None
    row, suspects = one.row, read_suspects(one)
    doubted = sum(suspect.suggested != suspect.given for suspect in suspects)
    return (
        "A row for each given label, the largest gap first; below each picture the label that the predictor "
        f"suggests, which differs from the given one for {doubted} of {len(suspects)}. Training and "
        f"validation examples, no noise added. {row.method} {row.hyper} ({row.network}, seed {row.seed}, "
        f"epoch {row.best_epoch} of {row.epochs_run}), the highest validation accuracy of {len(kept)} runs."
    )


def _figure(data: str, title: str, noise: str, p: float | None, n: int | None) -> Figure:
    cells = limit_cells(data, noise, p, n)
    return Figure(
        name=f"suspicious-{data}",
        title=f"The {EACH[data]} most suspicious labels of each class, {title}",
        place="Fig. 4 and supplement of the paper",
        data=data,
        kind=KIND,
        wants=wanted_by(cells),
        tasks=lambda protocol: tasks_of(cells[:1], protocol),
        draw=lambda kept: None,
        caption=_caption,
    )


SUSPICIOUS = (
    _figure("mnist", "MNIST", "uniform", 0.0, 48_000),
    _figure("cifar10", "CIFAR-10", "uniform", 0.0, 40_000),
    _figure("clothing1m", "Clothing1M", "real", None, None),
)
