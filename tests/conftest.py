"""What all tests share: one torch thread, and a small data set that trains in a moment."""

import numpy as np
import pytest
import torch

from noiselimit.data.examples import DataSet, make_examples

torch.set_num_threads(1)  # two threads that wait for each other beside a busy process run ten times slower


@pytest.fixture(scope="session")
def blobs() -> DataSet:
    """Three Gaussian clouds of feature vectors, 151 examples: easy, and no batch size divides them."""
    generator = np.random.default_rng(7)
    labels = np.arange(151) % 3
    centres = np.array([[3, 0, 0, 0, 0], [0, 3, 0, 0, 0], [0, 0, 3, 0, 0]])
    inputs = centres[labels] + generator.normal(size=(151, 5))
    return DataSet("blobs", make_examples(inputs, labels))


@pytest.fixture(scope="session")
def tiny_images() -> DataSet:
    """Two classes of 8 × 8 pictures, bright above or bright below, 61 examples."""
    generator = np.random.default_rng(3)
    labels = np.arange(61) % 2
    pictures = generator.integers(0, 60, size=(61, 1, 8, 8))
    pictures[labels == 0, :, :4] += 120
    pictures[labels == 1, :, 4:] += 120
    return DataSet("tiny", make_examples(pictures.astype(np.uint8), labels))
