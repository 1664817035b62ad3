"""What an audit trains: a few runs, as specs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from noiselimit.fields import option
from noiselimit.runs.spec import RunSpec, grid

if TYPE_CHECKING:  # the command line reads the plan's fields for --help, so importing this must be fast
    from noiselimit.data.examples import DataSet

BETAS = (3.0, 10.0, 30.0)
"""What noisy validation labels choose the estimator's β from."""
BATCHES = 16
"""What an epoch is cut into, within these bounds."""
SMALLEST_BATCH, LARGEST_BATCH = 32, 256
MOST_BATCHES, LARGEST_OF_ALL = 800, 1024
"""Many examples are cut into no more than so many batches, as long as these hold no more than that."""
MOST_VALUES = 4096
"""Larger inputs, pictures, never come in such batches: what networks make of them is larger still."""
FEWEST_STEPS, MOST_STEPS = 150, 10_000
"""What a training aims at, within these bounds: few examples make few steps of an epoch."""
FEWEST_EPOCHS, USUAL_EPOCHS, MOST_EPOCHS = 8, 30, 60


def is_auto(value: object) -> bool:
    """Whether a setting is left to us; it may be anything, such as an array, which has no one comparison."""
    return isinstance(value, str) and value == "auto"


def auto_batch_size(examples: int, values: int = 1) -> int:
    """For so many training examples, of so many values each."""
    usual = min(max(examples // BATCHES, SMALLEST_BATCH), LARGEST_BATCH)
    return usual if values > MOST_VALUES else max(usual, min(examples // MOST_BATCHES, LARGEST_OF_ALL))


def auto_epochs(examples: int, batch_size: int) -> int:
    """For so many training examples in batches of this size."""
    steps = -(-examples // batch_size)
    if steps * USUAL_EPOCHS < FEWEST_STEPS:
        return min(FEWEST_STEPS // steps, MOST_EPOCHS)
    return min(max(MOST_STEPS // steps, FEWEST_EPOCHS), USUAL_EPOCHS)


@dataclass(frozen=True)
class Candidate:
    """One method with one β; a method without β has None."""

    method: str
    beta: float | None


@dataclass(frozen=True)
class Recipe:
    """What is trained, and how long. Which of it counts is chosen by noisy validation."""

    candidates: tuple[Candidate, ...]
    share_of_epochs: float = 1.0
    """Of those that the data's defaults say, or that fit their number."""


LIMIT_L = Candidate("limit-l", 3.0)
"""Of all methods it memorises least, but it is slow to learn while all classes are equally likely."""
STARTED_L = Candidate("limit-l+init", 3.0)
"""Starts from a CE run: nearly as good on easy pictures, and better by far where the former hardly learns."""


@dataclass(frozen=True)
class Recipes:
    """By the kind of network."""

    simple: Recipe = Recipe((LIMIT_L, Candidate("limit-l", 10.0)))
    """Features, and pictures like MNIST's: LIMIT-L learned from scratch on all that was tried, from 2 to 300
    classes, so the number of classes is no reason for another recipe."""
    pictures: Recipe = Recipe((LIMIT_L, STARTED_L), share_of_epochs=2 / 3)
    """Pictures may be easy or hard, and nobody knows how somebody's own network learns: validation chooses.
    The CE run comes on top, so all are shorter: else five folds would be quicker."""
    residual: Recipe = Recipe((Candidate("limit-g+init", 1.0), Candidate("limit-l+init", 1.0)), 0.8)
    """Networks for hard pictures, on which LIMIT-L does not learn from scratch in a few epochs, and
    larger β holds learning back. Both share one CE run. results/detection-cifar10n.json has the figures."""

    def fitting(self, network: str) -> Recipe:
        """For a network of this name, which is not 'auto' any more."""
        if network in ("linear", "mlp", "mnist-cnn"):
            return self.simple
        return self.residual if network.startswith("resnet-") else self.pictures


DEFAULT_RECIPES = Recipes()
FAST_RECIPES = Recipes(
    simple=Recipe((LIMIT_L,), 2 / 3),
    pictures=Recipe((STARTED_L,), 0.6),
    residual=Recipe(DEFAULT_RECIPES.residual.candidates[:1], 0.55),
)
"""One run each, with its CE run in less than half the time of five folds, about. Nothing chooses here, so it
is one that learns."""


@dataclass(frozen=True)
class AuditPlan:
    """Settings of the runs; what is None or 'auto' follows from the data, whose own defaults come first."""

    recipes: Recipes = DEFAULT_RECIPES
    """By network; its candidates have one run each for every seed."""
    betas: tuple[float, ...] | None = option(
        None, "Weights of the gradient penalty to try.", name="beta", metavar="N,...", shown="by network"
    )
    """In place of the candidates: the first one's method with each of these."""
    seeds: tuple[int, ...] = option(
        (0,), "Seeds; several give steadier results.", name="seed", metavar="N,...", shown="0"
    )
    network: str = option("auto", "Such as small-cnn or resnet-18, or package.module:factory.")
    epochs: int | None = option(None, "Passes over the data.", metavar="N", shown="by their number")
    """None: the recipe's share of the data's default epochs, or of those that suit the number of examples."""
    batch_size: int | None = option(None, "Examples per step.", metavar="N", shown="by their number")
    learning_rate: float = option(1e-3, "Learning rate of both networks.", metavar="N")
    schedule: str = "constant"
    optimiser: str = "adam"
    augmentation: str | None = None
    validation_share: float = 0.2
    """Of the examples; by their given labels it is chosen which runs count. They are judged as well."""
    precision: str = "auto"

    def specs(self, data: DataSet) -> list[RunSpec]:
        """One per candidate and seed. No example is set apart for testing, and no run stops early:
        probabilities are averaged over the second half of the epochs."""
        usual = self.usual(data)
        recipe = self._recipe(usual.get("network", "auto"), data)
        epochs = usual["epochs"]
        if self.epochs is None:
            epochs = _shortened(
                epochs, recipe.share_of_epochs, -(-self._trained(data) // usual["batch_size"])
            )
        return [
            spec
            for candidate in recipe.candidates
            for spec in grid(
                **{
                    **usual,
                    "method": candidate.method,
                    **({} if candidate.beta is None else {"beta": candidate.beta}),
                    "seed": list(self.seeds),
                    "learning_rate": self.learning_rate,
                    "schedule": self.schedule,
                    "optimiser": self.optimiser,
                    "validation_share": self.validation_share,
                    "precision": self.precision,
                    "epochs": epochs,
                    "patience": epochs,
                    "test_share": 0.0,
                }
            )
        ]

    def usual(self, data: DataSet) -> dict[str, Any]:
        """Settings as given, else as the data's defaults say; batch size and epochs, before the recipe takes
        its share of these, else as fits the number of examples."""
        found: dict[str, Any] = {**data.defaults}
        for name in ("network", "epochs", "batch_size", "augmentation"):
            value = getattr(self, name)
            if value is not None and not is_auto(value):
                found[name] = value
        trained, values = self._trained(data), math.prod(data.examples.input_shape)
        size = found.get("batch_size", auto_batch_size(trained, values))
        size = RunSpec(batch_size=size).batch_size  # a whole number, or said to be none
        epochs = RunSpec(epochs=found.get("epochs", auto_epochs(trained, size))).epochs
        return {**found, "batch_size": size, "epochs": epochs}

    def _trained(self, data: DataSet) -> int:
        return len(data.examples) - round(len(data.examples) * self.validation_share)

    def _recipe(self, network: str, data: DataSet) -> Recipe:
        from noiselimit.networks import fitting_network

        recipe = self.recipes.fitting(
            fitting_network(data.examples.input_shape) if is_auto(network) else network
        )
        if self.betas is None:
            return recipe
        method = recipe.candidates[0].method
        return replace(recipe, candidates=tuple(Candidate(method, beta) for beta in self.betas))


def _shortened(epochs: int, share: float, steps: int) -> int:
    """The share of these epochs, each of so many steps; few examples need all their steps to be learned, and
    take no time."""
    return min(epochs, max(math.ceil(epochs * share), -(-FEWEST_STEPS // steps)))


DEFAULT = AuditPlan()
FAST = AuditPlan(recipes=FAST_RECIPES)
"""At most half the time."""
