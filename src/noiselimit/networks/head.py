"""The last layer of a network: an nn.Linear called `head`, or `fc` as torchvision calls it."""

from torch import nn

HEADS = ("head", "fc")


def head_of(network: nn.Module) -> nn.Linear | None:
    """The network's last layer, if it is named as it should be."""
    for name in HEADS:
        head = getattr(network, name, None)
        if isinstance(head, nn.Linear):
            return head
    return None


def remove_head_bias(network: nn.Module) -> None:
    """Leave logits that are products of weights and features alone."""
    head = head_of(network)
    assert head is not None
    head.bias = None  # type: ignore[assignment]
