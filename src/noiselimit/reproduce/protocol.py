"""How the paper trains: networks, epochs and the grids of hyper-parameters, for each of its data sets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from noiselimit.errors import InputError, unknown

BETAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SIGMAS = (0.01, 0.03, 0.1, 0.3)
LIKELY = (10.0, 3.0, 30.0, 100.0, 1.0, 0.3, 0.1, 0.0, 0.01)
"""Values of β, the most promising first, so that little time shows something."""
RATES = (1e-3, 1e-4, 1e-5, 1e-6)
LIKELY_RATES = (1e-5, 1e-6, 1e-4, 1e-3)
"""The same of DMI's rates: it goes on from weights that CE has trained."""

Grid = Mapping[str, tuple[float, ...]]
"""Name of a hyper-parameter, or learning_rate → the values that are tried."""

GRIDS: Mapping[str, Grid] = {
    "ce": {},
    "ce-gn": {"sigma": SIGMAS},
    "ce-ln": {"sigma": SIGMAS},
    "mae": {},
    "fw": {},
    "dmi": {"learning_rate": RATES},
    "soft-penalty": {"penalty": (0.001, 0.01, 0.03, 0.1), "beta": (0.0, 0.01, 0.1, 1.0, 10.0)},
    "limit-g": {"beta": BETAS},
    "limit-l": {"beta": BETAS},
    "limit-g+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-l+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-g+init": {"beta": BETAS},
    "limit-l+init": {"beta": BETAS},
}
"""What the paper searches (its section on hyper-parameters), in the order in which the tables want them."""

QUICK_GRIDS: Mapping[str, Grid] = {
    method: {
        name: {"beta": (1.0, 10.0), "learning_rate": (1e-3, 1e-4)}.get(name, values[:1])
        for name, values in grid.items()
    }
    for method, grid in GRIDS.items()
}


@dataclass(frozen=True)
class Protocol:
    """How every run on one of the paper's data sets is trained."""

    data: str
    """Name in the paper's tables."""
    source: str
    """Name of what is loaded: the same, but for quick trials."""
    network: str
    epochs: int = 400
    parent_epochs: int | None = None
    """Of the CE runs that others start from; None: as many. They are not cut with `epochs`."""
    patience: int = 100
    batch_size: int = 256
    learning_rate: float = 1e-3
    augmentation: str = "none"
    seeds: int = 5
    """How many splits the paper takes."""
    grids: Mapping[str, Grid] = field(default_factory=lambda: GRIDS)
    train_sizes: Mapping[int | None, int | None] = field(default_factory=dict)
    """The paper's n → train_size; None: all that validation leaves. A fifth is held out for validation."""
    input_shape: tuple[int, ...] = (3, 32, 32)
    classes: int = 10
    full_size: int = 40_000
    """Examples that training has at most."""
    evaluated: int = 20_000
    """Validation and test examples, which are evaluated after every epoch."""
    quick: bool = False

    @property
    def validation_examples(self) -> int:
        """A fifth of all, whatever n is."""
        return self.full_size // 4

    def train_examples(self, n: int | None) -> int:
        """How many examples a run trains on where the paper has n."""
        return self.train_sizes[n] or self.full_size


PROTOCOLS: Mapping[str, Protocol] = {
    protocol.data: protocol
    for protocol in (
        Protocol(
            "mnist",
            "mnist",
            "mnist-cnn",
            train_sizes={1000: 1000, 10_000: 10_000, 48_000: None},
            input_shape=(1, 28, 28),
            full_size=48_000,
            evaluated=22_000,
        ),
        Protocol(
            "cifar10",
            "cifar10",
            "resnet-34",
            augmentation="flip-crop",
            seeds=1,
            train_sizes={40_000: None},
        ),
        Protocol(
            "cifar100",
            "cifar100",
            "resnet-34",
            augmentation="flip-crop",
            seeds=1,
            train_sizes={40_000: None},
            classes=100,
        ),
        Protocol(
            "clothing1m",
            "clothing1m",
            "resnet-50",
            epochs=30,
            augmentation="flip-crop",
            seeds=1,
            train_sizes={None: None},
            input_shape=(3, 224, 224),
            classes=14,
            full_size=800_000,
            evaluated=210_000,
        ),
    )
}
QUICK_SIZES = {1000: 200, 10_000: 500}


def protocol_for(data: str, *, quick: bool = False, epochs: int | None = None) -> Protocol:
    """The protocol of a data set of the paper.

    `quick` trains the same methods on the digits that come with scikit-learn, with few epochs and values.
    """
    if data not in PROTOCOLS:
        raise unknown("data set of the paper", data, PROTOCOLS)
    found = PROTOCOLS[data]
    if quick:
        found = replace(
            found,
            source="digits",
            network="small-cnn",
            epochs=3,
            patience=2,
            batch_size=64,
            augmentation="none",
            seeds=1,
            grids=QUICK_GRIDS,
            train_sizes={n: QUICK_SIZES.get(n or 0) for n in found.train_sizes},
            input_shape=(1, 8, 8),
            classes=10,
            full_size=1150,
            evaluated=647,
            quick=True,
        )
    if epochs is None:
        return found
    if epochs > found.epochs and not quick:
        raise InputError(f"epochs is {epochs}, but {data} has at most {found.epochs}: give fewer.")
    return replace(found, epochs=epochs, parent_epochs=found.epochs)
