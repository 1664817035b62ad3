"""What an audit trains: a few runs of one method, as specs."""

import math
from dataclasses import dataclass
from typing import Any

from noiselimit.automatic import fitting_batch_size, fitting_epochs, is_auto
from noiselimit.data.examples import DataSet
from noiselimit.grids import grid
from noiselimit.methods import get_method
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class AuditPlan:
    """Settings of the runs; what is None or 'auto' follows from the data, whose own defaults come first."""

    betas: tuple[float, ...] = (3.0, 10.0)
    """One run each and for every seed; a method without β has one run for every seed."""
    seeds: tuple[int, ...] = (0,)
    method: str = "limit-l"
    network: str = "auto"
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 1e-3
    schedule: str = "constant"
    optimiser: str = "adam"
    augmentation: str | None = None
    validation_share: float = 0.2
    """Of the examples; by their given labels it is chosen which runs count. They are judged as well."""
    precision: str = "auto"

    def specs(self, data: DataSet) -> list[RunSpec]:
        """One per β and seed. No example is set apart for testing, and no run stops early: probabilities are
        averaged over the second half of the epochs."""
        fitting: dict[str, Any] = {**data.defaults}
        for name in ("network", "epochs", "batch_size", "augmentation"):
            value = getattr(self, name)
            if value is not None and not is_auto(value):
                fitting[name] = value
        trained = len(data.examples) - round(len(data.examples) * self.validation_share)
        size = fitting.setdefault(
            "batch_size", fitting_batch_size(trained, math.prod(data.examples.input_shape))
        )
        size = RunSpec(batch_size=size).batch_size  # a whole number, or said to be none
        epochs = RunSpec(epochs=fitting.setdefault("epochs", fitting_epochs(trained, size))).epochs
        if "beta" in get_method(self.method).hyper:
            fitting["beta"] = list(self.betas)
        return grid(
            **{
                **fitting,
                "method": self.method,
                "seed": list(self.seeds),
                "learning_rate": self.learning_rate,
                "schedule": self.schedule,
                "optimiser": self.optimiser,
                "validation_share": self.validation_share,
                "precision": self.precision,
                "patience": epochs,
                "test_share": 0.0,
            }
        )


DEFAULT = AuditPlan()
FAST = AuditPlan(betas=(3.0,))
"""About half the time."""
