import torch

from noiselimit.methods import METHODS, Batch


def test_equals_torchs_cross_entropy_row_by_row() -> None:
    logits = torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(24).reshape(3, 8) % 5
    found = METHODS["ce"].loss(Batch(logits, logits, labels), {})
    expected = [torch.nn.functional.cross_entropy(logits[row], labels[row]) for row in range(3)]
    torch.testing.assert_close(found, torch.stack(expected))
