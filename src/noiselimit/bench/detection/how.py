"""What all trainings of a comparison have in common."""

import dataclasses
from dataclasses import dataclass

from noiselimit.audit.plan import DEFAULT, AuditPlan
from noiselimit.binding import bind
from noiselimit.cohort.device import find_device
from noiselimit.cohort.pace import fast_precision, find_pace
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class How:
    """Where and how long everybody trains which network; None: what our audit would take for the data."""

    epochs: int | None = None
    network: str = "auto"
    device: str = "auto"
    threads: int | None = None
    kernels: str = "auto"
    graphs: str = "auto"

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}: give a whole number ≥ 1.")
        find_pace(self.kernels, self.graphs, find_device(self.device))  # says what is not there
        RunSpec(network=self.network, epochs=1 if self.epochs is None else self.epochs)  # likewise

    def plan(self, plan: AuditPlan, seed: int) -> AuditPlan:
        """An audit of ours in these circumstances: nothing else of it changes."""
        return dataclasses.replace(plan, seeds=(seed,), epochs=self.epochs, network=self.network)

    def spec(self, data: DataSet, seed: int) -> RunSpec:
        """Cross-entropy with the batches, rates, network and augmentation of our audit, for the usual epochs,
        of which our audit may take a share."""
        plan = self.plan(DEFAULT, seed)
        ours, epochs = plan.specs(data)[0], plan.usual(data)["epochs"]
        spec = dataclasses.replace(ours, method="ce", hyper={}, epochs=epochs, patience=epochs)
        return bind(spec, data, fast_precision(find_device(self.device)))
