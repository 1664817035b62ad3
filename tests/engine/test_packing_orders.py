"""Vectors of weights from a GPU, where convolutions are stored otherwise, serve on a CPU and back."""

import torch

from noiselimit.engine.rows import Packing


def test_a_vector_in_the_other_order_holds_the_same_weights() -> None:
    generator = torch.Generator().manual_seed(4)
    shapes = {"first": (3, 2, 5, 4), "bias": (7,), "second": (2, 3, 1, 3), "matrix": (4, 3)}
    state = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    plain, other = (Packing.of(state, channels_last=last) for last in (False, True))
    here, there = plain.pack([state])[0], other.pack([state])[0]
    assert not torch.equal(here, there)
    assert torch.equal(plain.reordered(there, channels_last=True), here)
    assert torch.equal(other.reordered(here, channels_last=False), there)
    assert plain.reordered(here, channels_last=False) is here
    assert other.reordered(there, channels_last=True) is there


def test_without_convolutions_there_is_one_order() -> None:
    packing = Packing.of({"a": torch.zeros(2, 3)}, channels_last=True)
    vector = packing.pack([{"a": torch.arange(6.0).view(2, 3)}])[0]
    assert torch.equal(packing.reordered(vector, channels_last=True), vector)
