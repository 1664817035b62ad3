import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.draws import SAMPLERS, balanced, shuffled, stream_keys
from noiselimit.randomness import Stream

KEYS = stream_keys([0, 1], Stream.ORDER, torch.device("cpu"))


@given(count=st.integers(1, 60), epoch=st.integers(1, 400))
def test_shuffled_visits_every_example_once(count: int, epoch: int) -> None:
    order = shuffled(KEYS, torch.tensor(epoch), torch.zeros(2, count, dtype=torch.int64))
    assert torch.equal(order.sort(1).values, torch.arange(count).expand(2, -1))


def test_balanced_draws_every_class_equally_often_and_its_members_evenly() -> None:
    labels = torch.tensor([[0] * 9000 + [2] * 900 + [3] * 100, [1] * 5000 + [2] * 5000])
    counts, hits = torch.zeros(2, 4), torch.zeros(10_000)
    for epoch in range(1, 11):
        order = balanced(KEYS, torch.tensor(epoch), labels)
        assert order.shape == labels.shape
        drawn = labels.gather(1, order)
        for row in range(2):
            counts[row] += drawn[row].bincount(minlength=4)
        hits += order[0].bincount(minlength=10_000)
    shares = counts / counts.sum(1, keepdim=True)
    torch.testing.assert_close(shares, torch.tensor([[1, 0, 1, 1], [0, 1.5, 1.5, 0]]) / 3, atol=0.01, rtol=0)
    rare = hits[9900:]  # 100 examples that share a third of 100,000 draws: 333 each
    assert 250 < rare.min() < rare.max() < 420


@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=20), epoch=st.integers(1, 9))
def test_a_row_is_sampled_alike_alone_and_beside_others(labels: list[int], epoch: int) -> None:
    for sampler in SAMPLERS.values():
        both = torch.tensor([labels, labels[::-1]])
        together = sampler(KEYS, torch.tensor(epoch), both)
        assert torch.equal(together[1:], sampler(KEYS[1:], torch.tensor(epoch), both[1:]))
