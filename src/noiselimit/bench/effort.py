"""How much is measured: the real sizes, or with --quick little enough to see that everything works."""

from dataclasses import dataclass

from noiselimit.bench.work import DataName


@dataclass(frozen=True)
class Effort:
    """Sizes and repetitions of one measurement."""

    quick: bool
    examples: dict[DataName, int]
    """Examples of a data set before a fifth of them becomes validation; digits are what they are."""
    test_examples: int
    epochs: dict[DataName, int]
    """Epochs that count."""
    warm_up: int
    """Epochs before those, which compile, capture and fill caches."""
    cohort_sizes: tuple[int, ...]
    """The K of which the best counts."""
    repeats: int
    """Of each side of a ratio."""
    digits_runs: int = 8
    digits_train: int | None = None
    """Training examples of digits; None: all."""


FULL_CUDA = Effort(
    quick=False,
    examples={"mnist": 60_000, "cifar10": 50_000},
    test_examples=10_000,
    epochs={"mnist": 5, "cifar10": 4, "digits": 5},
    warm_up=2,
    cohort_sizes=(64, 128, 256),
    repeats=5,
)
FULL_CPU = Effort(
    quick=False,
    examples={"mnist": 60_000, "cifar10": 50_000},
    test_examples=10_000,
    epochs={"mnist": 5, "cifar10": 3, "digits": 6},
    warm_up=2,
    cohort_sizes=(2, 8),
    repeats=5,
)
QUICK_CUDA = Effort(
    quick=True,
    examples={"mnist": 6_400, "cifar10": 3_200},
    test_examples=1_000,
    epochs={"mnist": 3, "cifar10": 2, "digits": 2},
    warm_up=1,
    cohort_sizes=(8, 32),
    repeats=2,
)
QUICK_CPU = Effort(
    quick=True,
    examples={"mnist": 640, "cifar10": 40},
    test_examples=20,
    epochs={"mnist": 2, "cifar10": 1, "digits": 2},
    warm_up=1,
    cohort_sizes=(1, 2),
    repeats=2,
    digits_train=256,
)


def effort_for(device_type: str, *, quick: bool) -> Effort:
    """The effort that a person waits for on such a device."""
    if device_type == "cuda":
        return QUICK_CUDA if quick else FULL_CUDA
    return QUICK_CPU if quick else FULL_CPU
