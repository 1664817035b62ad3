"""A network's parameters come back from the vector as they went in, and so do their gradients."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.rows import Packing

SHAPES = st.lists(st.lists(st.integers(0, 5), min_size=0, max_size=4), min_size=0, max_size=5)


@given(SHAPES, st.integers(1, 3), st.booleans())
def test_round_trip(shapes: list[list[int]], rows: int, channels_last: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    states = [
        {str(i): torch.randn(shape, generator=generator) for i, shape in enumerate(shapes)}
        for _ in range(rows)
    ]
    packing = Packing.of(states[0], channels_last=channels_last)
    vectors = packing.pack(states)
    assert vectors.shape[0] == rows
    assert vectors.shape[1] % 64 == 0
    unpacked = packing.unpack(vectors)
    assert list(unpacked) == list(states[0])
    for name, tensor in unpacked.items():
        assert torch.equal(tensor, torch.stack([state[name] for state in states]))
        if tensor.numel():
            assert (tensor.data_ptr() - vectors.data_ptr()) % (64 * 4) == 0  # each begins at a cache line
        if channels_last and tensor.dim() == 5:
            assert tensor.movedim(2, -1)[0].is_contiguous()


@given(SHAPES, st.booleans())
def test_the_gradient_of_the_vector_holds_those_of_the_parameters(
    shapes: list[list[int]], channels_last: bool
) -> None:
    states = [{str(i): torch.ones(shape) for i, shape in enumerate(shapes)}]
    packing = Packing.of(states[0], channels_last=channels_last)
    vectors = packing.pack(states).requires_grad_()
    used = list(packing.unpack(vectors).items())[::2]  # the others get zeros
    if not used:
        return
    loss = sum((int(name) + 1) * tensor.sum() for name, tensor in used)
    (gradient,) = torch.autograd.grad(loss, [vectors])
    for name, tensor in packing.unpack(gradient).items():
        expected = int(name) + 1 if name in dict(used) else 0
        assert torch.equal(tensor, torch.full_like(tensor, expected))


def test_parameters_keep_their_type() -> None:
    states = [{"single": torch.ones(2), "double": torch.full((3,), 1 / 3, dtype=torch.float64)}]
    packing = Packing.of(states[0])
    back = packing.unpack(packing.pack(states))
    assert back["single"].dtype == torch.float32
    assert torch.equal(back["double"][0], states[0]["double"])
