"""What is trained to be timed: a data set's shape, a network, a method and a batch size."""

from dataclasses import dataclass
from typing import Literal

from noiselimit.methods import get_method
from noiselimit.spec import RunSpec

DataName = Literal["mnist", "cifar10", "digits"]
CLASSES = 10
SHAPES: dict[DataName, tuple[int, int, int]] = {
    "mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "digits": (1, 8, 8),
}
SEEDS = 4
NOISE = "uniform:0.4"  # the wrong labels are counted in every epoch, as in a real run


@dataclass(frozen=True)
class Way:
    """By which of the fast ways to train, as `noiselimit.train` and `RunSpec` name them."""

    precision: str = "auto"
    kernels: str = "auto"
    graphs: str = "auto"


USUAL_WAY = Way()


@dataclass(frozen=True)
class Work:
    """A kind of run."""

    data: DataName
    network: str
    method: str
    batch_size: int = 256
    augmentation: str = "none"

    @property
    def input_shape(self) -> tuple[int, int, int]:
        """[channels, height, width]."""
        return SHAPES[self.data]

    @property
    def networks(self) -> int:
        """Networks that learn: the classifier and, where the method has one, its predictor."""
        return 2 if get_method(self.method).needs_predictor else 1

    def specs(
        self,
        runs: int,
        epochs: int,
        train_size: int | None = None,
        first_run: int = 0,
        precision: str = "auto",
    ) -> list[RunSpec]:
        """Runs that differ in seed and β; patience never ends one of them early.

        A grid of few seeds, as people train it: runs of one seed share the preparation of their data.
        """
        hyper = get_method(self.method).hyper
        seeds = SEEDS if "beta" in hyper else first_run + runs
        return [
            RunSpec(
                method=self.method,
                hyper={"beta": hyper["beta"] + run // seeds} if "beta" in hyper else {},
                seed=run % seeds,
                noise=NOISE,  # type: ignore[arg-type]  # text will do
                network=self.network,
                epochs=epochs,
                patience=epochs,
                batch_size=self.batch_size,
                precision=precision,
                augmentation=self.augmentation,
                train_size=train_size,
            )
            for run in range(first_run, first_run + runs)
        ]


MNIST = Work("mnist", "mnist-cnn", "limit-l")
CIFAR_LIMIT = Work("cifar10", "resnet-34", "limit-l", augmentation="flip-crop")
CIFAR_CE = Work("cifar10", "resnet-34", "ce", augmentation="flip-crop")
DIGITS_LIMIT = Work("digits", "small-cnn", "limit-l", batch_size=64)
DIGITS_CE = Work("digits", "small-cnn", "ce", batch_size=64)
