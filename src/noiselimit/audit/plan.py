"""What an audit trains: a few runs, as specs."""

import math
from dataclasses import dataclass, replace
from typing import Any

from noiselimit.audit.candidates import DEFAULT_RECIPES, FAST_RECIPES, Candidate, Recipe, Recipes
from noiselimit.automatic import FEWEST_STEPS, fitting_batch_size, fitting_epochs, is_auto
from noiselimit.data.examples import DataSet
from noiselimit.grids import grid
from noiselimit.networks import fitting_network
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class AuditPlan:
    """Settings of the runs; what is None or 'auto' follows from the data, whose own defaults come first."""

    recipes: Recipes = DEFAULT_RECIPES
    """By network; its candidates have one run each for every seed."""
    betas: tuple[float, ...] | None = None
    """In place of the candidates: the first one's method with each of these."""
    seeds: tuple[int, ...] = (0,)
    network: str = "auto"
    epochs: int | None = None
    """As given; None: the recipe's share of those that the data's defaults say, or that fit their number."""
    batch_size: int | None = None
    learning_rate: float = 1e-3
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
        size = found.get("batch_size", fitting_batch_size(trained, values))
        size = RunSpec(batch_size=size).batch_size  # a whole number, or said to be none
        epochs = RunSpec(epochs=found.get("epochs", fitting_epochs(trained, size))).epochs
        return {**found, "batch_size": size, "epochs": epochs}

    def _trained(self, data: DataSet) -> int:
        return len(data.examples) - round(len(data.examples) * self.validation_share)

    def _recipe(self, network: str, data: DataSet) -> Recipe:
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
