"""What a comparison measures: problems one after another, and how they are trained on."""

from collections.abc import Sequence
from dataclasses import dataclass

from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.made_data import MADE
from noiselimit.bench.detection.problem import Problem, check_noise
from noiselimit.bench.detection.trainings import TRAININGS
from noiselimit.errors import unknown

NOISES = ("uniform:0.2", "uniform:0.4", "next:0.3", "instance:0.3", "none")
LABEL_SETS = ("given:aggre", "given:worst")
"""Of data that come with labels by people."""
USUAL_NOISES = {"cifar10n": LABEL_SETS, **dict.fromkeys(MADE, ("uniform:0.1", "none"))}
USUAL_EXAMPLES = {"mnist": 10_000}
"""Of data that have more, so that a CPU is done in minutes."""
QUICK_EXAMPLES, QUICK_EPOCHS = 300, 2
"""They show that it works, and nothing else."""
FEWER_EXAMPLES = {"wine": 150}
"""Of data that have not as many."""


@dataclass(frozen=True)
class Wanted:
    """All of it."""

    problems: tuple[Problem, ...]
    how: How
    quick: bool = False
    without: tuple[str, ...] = ()
    """Trainings to leave out, where time is short: what needs them stays without figures."""

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in TRAININGS:
                raise unknown("training", name, TRAININGS)


def chosen_problems(
    data: Sequence[str],
    noises: Sequence[str] | None,
    seeds: Sequence[int],
    examples: int | None = None,
    data_dir: str | None = None,
    *,
    quick: bool = False,
) -> tuple[Problem, ...]:
    """Data × noise × seed, in that order; without noises, those usual for the data."""
    for noise in noises or ():
        check_noise(noise)
    return tuple(
        Problem(
            name,
            noise,
            seed,
            examples if examples is not None else _usual_examples(name, quick=quick),
            data_dir,
        )
        for name in data
        for noise in (USUAL_NOISES.get(name, NOISES) if noises is None else noises)
        for seed in seeds
    )


def _usual_examples(name: str, *, quick: bool) -> int | None:
    return FEWER_EXAMPLES.get(name, QUICK_EXAMPLES) if quick else USUAL_EXAMPLES.get(name)
