"""What an audit trains: methods, network, epochs and batch size, as run specs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from noiselimit.fields import option
from noiselimit.runs.spec import RunSpec, grid

if TYPE_CHECKING:  # the command line reads the plan's fields for --help, so importing this must be fast
    from noiselimit.data.examples import DataSet
    from noiselimit.networks.pretrained import WeightsFile

BATCHES = 16
"""Target number of batches per epoch, within the limits below."""
MIN_BATCH_SIZE, MAX_BATCH_SIZE = 32, 256
MAX_BATCHES, MAX_BATCH_SIZE_OF_MANY = 800, 1024
"""Large data sets use larger batches, to stay below MAX_BATCHES."""
MAX_VALUES = 4096
"""Inputs with more values (large pictures) keep to MAX_BATCH_SIZE, to save memory."""
MIN_STEPS, MAX_STEPS = 150, 10_000
"""Target range for the number of training steps."""
MIN_EPOCHS, USUAL_EPOCHS, MAX_EPOCHS = 8, 30, 60
MIN_EPOCHS_OF_FILE = 2
"""The same for features that are read from a file, because they do not fit in memory: from 1.6 million
examples on, more epochs would exceed MAX_STEPS. In the second epoch, every example is judged once."""
VALUE_STEPS, MAX_VALUE_EPOCHS = 2000, 150
"""Training steps to aim at for regression, and most epochs."""


def is_auto(value: object) -> bool:
    """Whether a setting is the string 'auto'; safe for arrays, too."""
    return isinstance(value, str) and value == "auto"


def auto_batch_size(examples: int, values: int = 1) -> int:
    """Batch size for this many training examples with this many values each."""
    usual = min(max(examples // BATCHES, MIN_BATCH_SIZE), MAX_BATCH_SIZE)
    return usual if values > MAX_VALUES else max(usual, min(examples // MAX_BATCHES, MAX_BATCH_SIZE_OF_MANY))


def auto_epochs(examples: int, batch_size: int, least: int = MIN_EPOCHS) -> int:
    """Number of epochs, at least so many, for this many training examples in batches of this size."""
    steps = -(-examples // batch_size)
    if steps * USUAL_EPOCHS < MIN_STEPS:
        return min(MIN_STEPS // steps, MAX_EPOCHS)
    return min(max(MAX_STEPS // steps, least), USUAL_EPOCHS)


def value_epochs(examples: int, batch_size: int) -> int:
    """The same for regression, which learns slower."""
    return min(max(VALUE_STEPS // -(-examples // batch_size), USUAL_EPOCHS), MAX_VALUE_EPOCHS)


Recipe = tuple[tuple[tuple[str, float], ...], float]
"""What to train by default: methods and their β, of which accuracy on noisy validation labels decides which
count, and the share of the default number of epochs."""

# LIMIT-L memorises least of all methods, but learns slowly at first. Started from a CE run, it is nearly as
# good on easy pictures and far better where LIMIT-L hardly learns.
LIMIT_L, STARTED_L = ("limit-l", 3.0), ("limit-l+init", 3.0)
STARTED_G = ("limit-g+init", 1.0)
SIMPLE_NETWORKS = ("linear", "mlp", "mnist-cnn")
RECIPES: dict[str, Recipe] = {
    # Features and small pictures: LIMIT-L learned from scratch on all data tried, from 2 to 300 classes.
    "simple": ((LIMIT_L, ("limit-l", 10.0)), 1.0),
    # ResNets for hard pictures, on which LIMIT-L does not learn from scratch in a few epochs and a larger β
    # slows learning. Both share one CE run. See results/detection-cifar10n.json.
    "resnet": ((STARTED_G, ("limit-l+init", 1.0)), 0.8),
    # Other pictures and users' own networks: validation decides. Fewer epochs make up for the CE run.
    "other": ((LIMIT_L, STARTED_L), 2 / 3),
}
FAST_RECIPES: dict[str, Recipe] = {
    # One candidate each, chosen because it always learns; less than half the time of five-fold training.
    "simple": ((LIMIT_L,), 2 / 3),
    "resnet": ((STARTED_G,), 0.55),
    "other": ((STARTED_L,), 0.6),
}


@dataclass(frozen=True)
class AuditPlan:
    """Settings of the runs of an audit. Settings that are None or 'auto' are chosen for the data."""

    fast: bool = False
    """Train one candidate in fewer epochs: at most half the time."""
    betas: tuple[float, ...] | None = option(
        None,
        "Weights of the gradient penalty to try.",
        name="beta",
        metavar="N,...",
        shown="chosen for the network",
    )
    """Values of β to train the first method of the recipe with, instead of its candidates."""
    seeds: tuple[int, ...] = option(
        (0,), "Seeds; several give steadier results.", name="seed", metavar="N,...", shown="0"
    )
    network: str = option("auto", "Such as small-cnn or resnet-18, or package.module:factory.")
    epochs: int | None = option(
        None, "Passes over the data.", metavar="N", shown="chosen from the number of examples"
    )
    """None: the recipe's share of the data's default epochs, or of those that suit the number of examples."""
    batch_size: int | None = option(
        None, "Examples per step.", metavar="N", shown="chosen from the number of examples"
    )
    learning_rate: float = option(1e-3, "Learning rate of both networks.", metavar="N")
    schedule: str = "constant"
    optimiser: str = "adam"
    augmentation: str | None = option(
        None, "none, flip, crop or flip-crop.", metavar="NAME", shown="that of the data set"
    )
    initial_weights: WeightsFile | str | None = option(
        None, ".safetensors file that both networks start from.", metavar="FILE", shown="fresh weights"
    )
    validation_share: float = 0.2
    """Share of the examples held out to select runs by their given labels; these are audited as well."""
    precision: str = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.network, str):
            object.__setattr__(self, "network", RunSpec(network=self.network).network)

    def specs(self, data: DataSet) -> list[RunSpec]:
        """One run spec per candidate and seed.

        There is no test part and no early stopping, because probabilities are averaged over the second half
        of the epochs.
        """
        settings = self.settings(data)
        candidates, share = self._recipe(settings.get("network", "auto"), data)
        epochs = settings["epochs"]
        if self.epochs is None:
            steps = -(-self._training_examples(data) // settings["batch_size"])
            # A small data set needs all its steps to be learned, and takes no time.
            epochs = min(epochs, max(math.ceil(epochs * share), -(-MIN_STEPS // steps)))
        fixed = {
            **settings,
            "seed": list(self.seeds),
            "epochs": epochs,
            "patience": epochs,
            "test_share": 0.0,
        }
        return [spec for method, beta in candidates for spec in grid(method=method, beta=beta, **fixed)]

    def settings(self, data: DataSet) -> dict[str, Any]:
        """The plan's settings, else the data's defaults, else what suits the number of examples."""
        from noiselimit.data.arrays import Rows

        found: dict[str, Any] = {**data.defaults}
        for name in {field.name for field in fields(self)} & {field.name for field in fields(RunSpec)}:
            value = getattr(self, name)
            if value is not None and not is_auto(value):
                found[name] = value
        examples, values = self._training_examples(data), math.prod(data.examples.input_shape)
        size = found.get("batch_size", auto_batch_size(examples, values))
        size = RunSpec(batch_size=size).batch_size  # checks and converts it
        least = MIN_EPOCHS_OF_FILE if isinstance(data.examples.inputs, Rows) else MIN_EPOCHS
        epochs = RunSpec(epochs=found.get("epochs", auto_epochs(examples, size, least))).epochs
        return {**found, "batch_size": size, "epochs": epochs}

    def _training_examples(self, data: DataSet) -> int:
        return len(data.examples) - round(len(data.examples) * self.validation_share)

    def _recipe(self, network: str, data: DataSet) -> Recipe:
        from noiselimit.networks import fitting_network

        if is_auto(network):
            network = fitting_network(data.examples.input_shape)
        kind = "simple" if network in SIMPLE_NETWORKS else "other"
        recipe = (FAST_RECIPES if self.fast else RECIPES)["resnet" if network.startswith("resnet-") else kind]
        if self.betas is None:
            return recipe
        ((method, _), *_), share = recipe
        return tuple((method, beta) for beta in self.betas), share


DEFAULT = AuditPlan()
FAST = AuditPlan(fast=True)
