"""How the paper trains: networks, epochs and grids of hyper-parameters, and the runs that a cell takes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from noiselimit.errors import InputError, unknown
from noiselimit.runs.spec import RunSpec, grid
from paper.rows import setting_key

Grid = Mapping[str, tuple[float, ...]]
"""Hyper-parameter, or learning_rate → the values that are searched."""

BETAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SIGMAS = (0.01, 0.03, 0.1, 0.3)
GRIDS: Mapping[str, Grid] = {
    "ce": {},
    "ce-gn": {"sigma": SIGMAS},
    "ce-ln": {"sigma": SIGMAS},
    "mae": {},
    "fw": {},
    "dmi": {"learning_rate": (1e-3, 1e-4, 1e-5, 1e-6)},
    "soft-penalty": {"penalty": (0.001, 0.01, 0.03, 0.1), "beta": (0.0, 0.01, 0.1, 1.0, 10.0)},
    "limit-g": {"beta": BETAS},
    "limit-l": {"beta": BETAS},
    "limit-g+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-l+s": {"beta": BETAS, "sigma": SIGMAS},
    "limit-g+init": {"beta": BETAS},
    "limit-l+init": {"beta": BETAS},
}
"""What the paper searches for each method."""


def _smaller_grids(values: Grid) -> Mapping[str, Grid]:
    """The paper's grids with these values; of another hyper-parameter only the first."""
    return {
        method: {name: values.get(name, found[:1]) for name, found in searched.items()}
        for method, searched in GRIDS.items()
    }


QUICK_GRIDS = _smaller_grids({"beta": (1.0, 10.0), "learning_rate": (1e-3, 1e-4)})
SHORT_GRIDS = {
    **_smaller_grids({"beta": (10.0, 1.0), "learning_rate": (1e-5, 1e-4)}),
    "limit-g": {"beta": (10.0, 1.0, 30.0)},
}
"""Of the short protocols. The third value of a grid is the least telling: it is trained last."""
SHORT_EPOCHS = 40
SHORT: Mapping[str, Mapping[str, Any]] = {
    "short": {},
    "short-sgd": {"optimiser": "sgd", "learning_rate": 0.05, "weight_decay": 5e-4},
}
"""Short protocol → what it changes in the paper's beside epochs, schedule and grids."""
QUICK_SIZES = {1000: 200, 10_000: 500}
QUICK_PAIRS = ("1>7", "3>8", "4>9", "5>6")
"""Digits that look alike, in place of CIFAR-10's pairs of classes."""


@dataclass(frozen=True)
class Protocol:
    """How the runs on one data set are trained. A fifth of the examples is held out for validation."""

    data: str
    """Name in the paper's tables."""
    source: str
    """Name of the data set that is loaded; differs from `data` for quick runs only."""
    network: str
    train_sizes: Mapping[int | None, int | None]
    """The paper's n → RunSpec.train_size; None means all examples that validation leaves."""
    epochs: int = 400
    parent_epochs: int | None = None
    """Epochs of the CE runs that other methods start from; None means `epochs`."""
    patience: int = 100
    batch_size: int = 256
    optimiser: str = "adam"
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    schedule: str = "constant"
    augmentation: str = "none"
    seeds: int = 5
    grids: Mapping[str, Grid] = field(default_factory=lambda: GRIDS)
    quick: bool = False
    kind: str = "full"
    """'full': the paper's. Others are in SHORT."""

    @property
    def full_epochs(self) -> int:
        """The protocol's limit of epochs, even if this call allows fewer."""
        return self.parent_epochs or self.epochs

    @property
    def file(self) -> str:
        """Name of the file of its rows, which are apart from those of other kinds."""
        return self.data if self.kind == "full" else f"{self.data}-{self.kind}"


_CIFAR = Protocol(
    "cifar10", "cifar10", "resnet-34", train_sizes={40_000: None}, augmentation="flip-crop", seeds=1
)
PROTOCOLS: Mapping[str, Protocol] = {
    "mnist": Protocol("mnist", "mnist", "mnist-cnn", train_sizes={1000: 1000, 10_000: 10_000, 48_000: None}),
    "cifar10": _CIFAR,
    "cifar100": replace(_CIFAR, data="cifar100", source="cifar100"),
    "clothing1m": replace(
        _CIFAR,
        data="clothing1m",
        source="clothing1m",
        network="resnet-50",
        epochs=30,
        train_sizes={None: None},
    ),
}


def protocol_for(
    data: str, kind: str = "full", *, quick: bool = False, epochs: int | None = None
) -> Protocol:
    """The protocol of a data set of the paper.

    Those of SHORT have few epochs, which all runs train to the end, also the CE runs that others start from.
    `quick` trains the same methods on scikit-learn's digits, with few epochs and values. `epochs` allows
    fewer; the CE runs that other methods start from keep the paper's number.
    """
    if kind not in ("full", *SHORT):
        raise unknown("protocol", kind, ["full", *SHORT])
    found = PROTOCOLS[data]
    if quick:
        found = replace(
            found,
            source="digits",
            network="small-cnn",
            train_sizes={n: QUICK_SIZES.get(n or 0) for n in found.train_sizes},
            epochs=3,
            patience=2,
            batch_size=64,
            augmentation="none",
            seeds=1,
            grids=QUICK_GRIDS,
            quick=True,
        )
    if kind in SHORT:
        few = min(SHORT_EPOCHS, found.epochs)
        found = replace(found, kind=kind, epochs=few, patience=few, schedule="cosine", grids=SHORT_GRIDS)
        found = replace(found, **SHORT[kind])
    if epochs is None:
        return found
    if epochs > found.epochs and not quick:
        raise InputError(f"epochs is {epochs}: give at most {found.epochs}.")
    return replace(found, epochs=epochs, parent_epochs=found.epochs)


@dataclass(frozen=True)
class Cell:
    """One number of a table: a method on one problem."""

    data: str
    noise: str
    """uniform, pair, or real: the labels of the data are noisy already."""
    p: float | None
    """Probability that an affected label is changed; None if the noise is real."""
    n: int | None
    """Training examples; None means all."""
    method: str

    @property
    def problem(self) -> str:
        """Such as 'uniform:0.8/10000'; the option --cells takes it."""
        noise = self.noise if self.p is None else f"{self.noise}:{self.p:g}"
        return noise if self.n is None else f"{noise}/{self.n}"

    @property
    def columns(self) -> dict[str, Any]:
        """The problem as rows name it. Without noise one run serves several tables."""
        noise = "none" if self.p == 0 else self.noise
        return {"data": self.data, "noise": noise, "p": self.p, "n": self.n}

    def run_noise(self, *, quick: bool) -> str:
        """The noise as a RunSpec names it."""
        if not self.p:
            return "none"
        if quick and self.noise == "pair":
            return "pair:" + ";".join(f"{pair}:{self.p:g}" for pair in QUICK_PAIRS)
        return f"{self.noise}:{self.p:g}"


@dataclass(frozen=True)
class Task:
    """One run of a cell."""

    cell: Cell
    spec: RunSpec
    hyper: str
    """The searched values, such as 'beta=10 sigma=0.03'."""
    setting: str
    """Key of all its rows; see `paper.rows`."""


def make_tasks(
    cell: Cell, seeds: Iterable[int], protocol: Protocol, searched: Grid | None = None
) -> list[Task]:
    """Every value of the method's grid, or of `searched`, for every seed."""
    values = protocol.grids[cell.method] if searched is None else searched
    settings = {
        "noise": cell.run_noise(quick=protocol.quick),
        "network": protocol.network,
        "epochs": protocol.epochs,
        "parent_epochs": protocol.parent_epochs,
        "patience": protocol.patience,
        "batch_size": protocol.batch_size,
        "augmentation": protocol.augmentation,
        "train_size": protocol.train_sizes[cell.n],
        "optimiser": protocol.optimiser,
        "learning_rate": protocol.learning_rate,
        "parent_learning_rate": protocol.learning_rate,
        "weight_decay": protocol.weight_decay,
        "schedule": protocol.schedule,
    }
    specs = grid(
        method=cell.method, seed=list(seeds), **settings | {name: list(each) for name, each in values.items()}
    )
    return [make_task(cell, spec, values, protocol) for spec in specs]


def make_task(cell: Cell, spec: RunSpec, searched: Iterable[str], protocol: Protocol) -> Task:
    """The task of one run; `searched` names the hyper-parameters that its row shows."""
    hyper = " ".join(
        f"{name}={spec.hyper[name] if name in spec.hyper else getattr(spec, name):g}" for name in searched
    )
    columns = cell.columns | {"method": cell.method, "hyper": hyper, "patience": spec.patience}
    columns |= {"network": protocol.network, "quick": protocol.quick}
    return Task(cell, spec, hyper, setting_key(columns))
