"""How far a test accuracy would differ with other test examples: the paper's error bars for CIFAR."""

from math import log

import numpy as np

from noiselimit.randomness import Stream, uniforms

RESAMPLES = 1000


def bootstrap_std(accuracy: float, examples: int, seed: int) -> float:
    """Standard deviation of the accuracy over resamples of so many test examples, drawn by counter.

    Which examples are right does not matter: how many of a resample are is binomial. Without end, resamples
    come to √(p(1 − p)/n); these are as many as the paper takes, so that the error bars are made as its own.
    """
    if not 0.0 < accuracy < 1.0:
        return 0.0
    count = np.arange(examples + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(count[1:]))])
    ways = factorials[-1] - factorials - factorials[::-1]
    chances = np.exp(ways + count * log(accuracy) + count[::-1] * log(1 - accuracy))
    drawn = uniforms(seed, Stream.SPLIT, RESAMPLES, RESAMPLES)
    hits = np.searchsorted(np.cumsum(chances), drawn).clip(max=examples)
    return float(np.std(hits / examples))
