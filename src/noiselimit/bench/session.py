"""What all measurements of one call of the bench share."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from noiselimit.bench.counting import Cost, epoch_cost
from noiselimit.bench.effort import Effort
from noiselimit.bench.synthetic import make_data
from noiselimit.bench.timing import Timed, time_training
from noiselimit.bench.work import USUAL_WAY, DataName, Way, Work
from noiselimit.cohort.pace import fast_precision
from noiselimit.data.examples import DataSet

Tell = Callable[[float], None]
"""Hears the share of a measurement that is done."""


@dataclass(frozen=True)
class Session:
    """Device, threads and sizes."""

    device: torch.device
    threads: int
    effort: Effort
    way: Way = USUAL_WAY

    @property
    def precision(self) -> str:
        """Of activations, for the count of bytes."""
        return fast_precision(self.device) if self.way.precision == "auto" else self.way.precision

    def data(self, name: DataName) -> DataSet:
        """The data set at the size that the effort says."""
        return make_data(name, self.effort.examples.get(name, 0), self.effort.test_examples)

    def train_examples(self, work: Work, train_size: int | None = None) -> int:
        """How many examples a run will train on, about: exact figures come from the runs themselves."""
        data = self.data(work.data)
        return train_size or round(len(data.examples) * (0.8 if data.test else 0.64))

    def time(
        self, work: Work, runs: int, *, tell: Tell | None = None, train_size: int | None = None
    ) -> Timed:
        """One cohort with all threads, one each."""
        if work.data == "digits":
            train_size = train_size or self.effort.digits_train
        return time_training(
            work,
            self.data(work.data),
            runs,
            device=self.device,
            threads=self.threads,
            epochs=self.effort.epochs[work.data],
            warm_up=self.effort.warm_up,
            train_size=train_size,
            way=self.way,
            to_the_end=False,
            tell=tell,
        )

    def cost(self, timed: Timed) -> Cost:
        """Of one run and epoch of what was timed."""
        return epoch_cost(
            timed.work,
            train_examples=timed.train_examples,
            evaluated_examples=timed.validation_examples + timed.test_examples,
            precision=self.precision,
        )

    def expected_operations(self, work: Work, runs: int, train_size: int | None = None) -> float:
        """Of a whole training: what the time left is estimated by."""
        examples = self.train_examples(work, train_size)
        epochs = self.effort.warm_up + self.effort.epochs[work.data]
        cost = epoch_cost(work, train_examples=examples, evaluated_examples=0, precision=self.precision)
        return cost.operations * runs * epochs
