"""Which methods an audit trains, by whether a network can be expected to learn with them from scratch."""

from dataclasses import dataclass


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
