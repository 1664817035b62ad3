"""Learning problems so small that every data set, label and weight can be listed, in batches of B at a time.

A data set is n examples with inputs from m and labels from k values; X and Y number all m^n and k^n sets of
them. Everything is a table, and information is computed from entropies of tables, in bits.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[np.float64]
BATCH = 50  # problems per draw
DRAWS = 45  # together 2,250 of each kind


@dataclass(frozen=True)
class Shape:
    """Of the problems in one batch."""

    examples: int
    inputs: int
    classes: int
    weights: int
    seed: int


@dataclass(frozen=True, eq=False)
class Problems:
    """B problems."""

    shape: Shape
    example: Array  # [B, m, k]: p(x, y)
    data: Array  # [B, X, Y]: p(S), examples being independent
    learner: Array  # [B, X, Y, W]: A(w|S)
    classifier: Array  # [B, m, W, k]: f(y|x, w)

    @property
    def joint(self) -> Array:
        """[B, X, Y, W]."""
        return self.data[..., None] * self.learner

    @property
    def label_information(self) -> Array:
        """I(w;Y|X), [B]."""
        p = self.joint
        return bits(p.sum(3)) + bits(p.sum(2)) - bits(p.sum((2, 3))) - bits(p)

    @property
    def input_information(self) -> Array:
        """I(w;X), [B]."""
        p = self.joint
        return bits(p.sum((2, 3))) + bits(p.sum((1, 2))) - bits(p.sum(2))

    @property
    def label_entropy(self) -> Array:
        """H(y|x) of one example, [B]."""
        return bits(self.example) - bits(self.example.sum(2))

    @property
    def whole_classifier(self) -> Array:
        """f(Y|X, w) = Π f(y_i|x_i, w), [B, X, W, Y]."""
        xs, ys = self.sets
        f = self.classifier[:, xs][..., ys]  # [B, X, n, W, Y, n]
        return np.prod([f[:, :, i, :, :, i] for i in range(self.shape.examples)], axis=0)

    @property
    def sets(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The inputs [X, n] and the labels [Y, n] of every set."""
        return numbered(self.shape.inputs, self.shape.examples), numbered(
            self.shape.classes, self.shape.examples
        )

    @property
    def training_error(self) -> Array:
        """The expected share of training labels that a prediction drawn from f misses, [B]."""
        xs, ys = self.sets
        right = np.zeros(len(self.data))
        for i in range(self.shape.examples):
            f = self.classifier[:, xs[:, i]][..., ys[:, i]]  # [B, X, W, Y]
            right += np.einsum("bxyw,bxwy->b", self.joint, f)
        return 1 - right / self.shape.examples

    @property
    def test_error(self) -> Array:
        """The same on an independent example, [B]."""
        weights = self.joint.sum((1, 2))
        return 1 - np.einsum("bw,bxk,bxwk->b", weights, self.example, self.classifier)


def bits(table: Array) -> Array:
    """The entropy of each of B tables."""
    p = table.reshape(len(table), -1)
    return -(p * np.log2(np.where(p > 0, p, 1))).sum(1)


def numbered(values: int, length: int) -> npt.NDArray[np.int64]:
    return np.array(list(product(range(values), repeat=length)))


def whole_sets(example: Array, examples: int) -> Array:
    """p(S) [B, X, Y] of independent examples with p(x, y) [B, m, k]."""
    xs, ys = numbered(example.shape[1], examples), numbered(example.shape[2], examples)
    return np.prod([example[:, xs[:, i]][..., ys[:, i]] for i in range(examples)], axis=0)


def rows(generator: np.random.Generator, *shape: int) -> Array:
    """Random distributions over the last axis: certain ones, sharp ones and flat ones."""
    sharp = generator.choice([0.2, 1.0, 5.0], size=(*shape[:-1], 1))
    weights = generator.gamma(sharp, size=shape) + 1e-30
    certain = np.eye(shape[-1])[generator.integers(shape[-1], size=shape[:-1])]
    return np.where(
        generator.random((*shape[:-1], 1)) < 0.4, certain, weights / weights.sum(-1, keepdims=True)
    )


def problems(shape: Shape) -> Problems:
    generator = np.random.default_rng(shape.seed)
    n, m, k = shape.examples, shape.inputs, shape.classes
    example = rows(generator, BATCH, m * k).reshape(BATCH, m, k)
    return Problems(
        shape,
        example,
        whole_sets(example, n),
        rows(generator, BATCH, m**n, k**n, shape.weights),
        rows(generator, BATCH, m, shape.weights, k),
    )


def any_problems() -> st.SearchStrategy[Problems]:
    shapes = st.builds(
        Shape,
        examples=st.integers(1, 3),
        inputs=st.integers(1, 2),
        classes=st.integers(2, 3),
        weights=st.integers(1, 4),
        seed=st.integers(0, 2**32),
    )
    return shapes.map(problems)
