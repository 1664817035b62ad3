"""Torch's own generator, which layers draw from when they are created: borrowed, and given back as it was."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_TURN = threading.Lock()  # the generator belongs to the whole process, and blocks are built in threads


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Whatever is created in here is drawn from this seed, whatever other threads create meanwhile."""
    with _TURN, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
