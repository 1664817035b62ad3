"""Labels of which it is known which are wrong: a data set, a noise and a seed."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from noiselimit.bench.detection.made_data import MADE
from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.labels import Labels
from noiselimit.data.lazy import LazyInputs
from noiselimit.data.sources import load_data
from noiselimit.errors import InputError, number
from noiselimit.noise import Noise, PairNoise, as_noise
from noiselimit.randomness import Stream, permutation

NEXT = "next:"
"""`next:P`: with probability P a label becomes the next class in order, the last one the first."""


@dataclass(frozen=True)
class Problem:
    """What the tools are given. The seed draws the noise, the examples where they are some of many or made
    here, and all that trains."""

    data: str
    noise: str
    seed: int
    examples: int | None = None
    """Take so many of the data; None: all."""
    data_dir: str | None = None

    @property
    def key(self) -> tuple[str, str, int, int | None]:
        """What tells problems apart; where the data lie does not."""
        return self.data, self.noise, self.seed, self.examples

    @property
    def name(self) -> str:
        """For people and for file names."""
        letters = f"{self.data}-{self.noise}-seed{self.seed}"
        return "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in letters)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A problem, loaded."""

    data: DataSet
    """With the noisy labels as given ones; which are clean it does not say, and it has no other parts."""
    clean: Labels
    """[n]"""

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """[n]"""
        return np.asarray(self.data.examples.labels != self.clean)


def load_problem(problem: Problem) -> Labelled:
    """Read the data and draw the noise."""
    made = MADE.get(problem.data)
    data = load_data(problem.data, problem.data_dir) if made is None else made(problem.seed)
    examples = data.examples
    if isinstance(examples.inputs, LazyInputs):
        raise InputError(f"data is {problem.data}, whose pictures are read from files: take data in memory.")
    noisy = find_noise(problem.noise, examples).apply(examples, problem.seed)
    clean = noisy.clean_labels if noisy.clean_labels is not None else examples.labels
    chosen = _chosen(len(examples), problem)
    told = Examples(np.asarray(examples.inputs)[chosen], noisy.labels[chosen], examples.class_names)
    return Labelled(DataSet(data.name, told, defaults=data.defaults), clean[chosen])


def _chosen(count: int, problem: Problem) -> npt.NDArray[np.int64]:
    if problem.examples is None:
        return np.arange(count)
    if not 2 <= problem.examples <= count:
        raise InputError(
            f"examples is {problem.examples}, but {problem.data} has {count}: give 2 to {count}."
        )
    return np.sort(permutation(problem.seed, Stream.SPLIT, 1, count)[: problem.examples])


def check_noise(text: str) -> None:
    """Say what is no noise before any data are read."""
    if text.startswith(NEXT):
        _probability(text)
    else:
        as_noise(text)


def find_noise(text: str, examples: Examples) -> Noise:
    """The noise that the text names, for these classes; `next:P` beside the noises of training."""
    if not text.startswith(NEXT):
        return as_noise(text)
    names, probability = examples.class_names, _probability(text)
    return PairNoise({f"{name}>{after}": probability for name, after in pairwise((*names, names[0]))})


def _probability(text: str) -> float:
    try:
        return number("noise", float(text.removeprefix(NEXT)), at_least=0.0, below=1.0)
    except ValueError:
        raise InputError(f"noise is '{text}': give a number after '{NEXT}', such as next:0.3.") from None
