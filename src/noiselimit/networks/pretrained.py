"""Weights from a .safetensors file, to start from what was learned elsewhere."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from noiselimit.errors import InputError
from noiselimit.files import read_bytes
from noiselimit.networks.network import HEADS, without_draws


@dataclass(frozen=True)
class WeightsFile:
    """The content of a weights file. Files with equal content are equal, wherever they are."""

    name: str = field(compare=False)
    """Without its folder."""
    digest: str
    """SHA-256 of the content."""
    tensors: Mapping[str, Tensor] | None = field(default=None, compare=False, repr=False)
    """None if only the mention in a run folder is known."""

    def to_json(self) -> dict[str, str]:
        """Return name and digest; the weights stay in their file."""
        return {"name": self.name, "sha256": self.digest}

    @classmethod
    def from_json(cls, value: Any) -> "WeightsFile":
        """Invert `to_json`, without the tensors."""
        match value:
            case {"name": str(name), "sha256": str(digest)}:
                return cls(name, digest)
        raise InputError(f"initial_weights is {value!r}: give the name and sha256 of a file.")


def read_weights_file(path: str | Path) -> WeightsFile:
    """Read all tensors of a .safetensors file. Pickles are refused, because loading them can run code."""
    path = Path(path)
    try:
        content = read_bytes(path)
        tensors = safetensors.torch.load(content)
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}): give a .safetensors file.") from None
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, RuntimeError):
        raise InputError(
            f"{path} is damaged or not a safetensors file: if it is a pickle that you trust, convert it with "
            f"safetensors.torch.save_file(torch.load('{path.name}', weights_only=True), 'NEW.safetensors')."
        ) from None
    return WeightsFile(path.name, hashlib.sha256(content).hexdigest(), tensors)


def with_pretrained(state: Mapping[str, Tensor], weights: WeightsFile) -> dict[str, Tensor]:
    """Return the state dict with the file's weights in it.

    The last layer stays as it is if the file has none, or one for another number of classes.
    """
    if weights.tensors is None:
        raise InputError(f"the weights of {weights.name} are not loaded: give the file again.")
    found, wanted = without_draws(weights.tensors), without_draws(state)
    head = next((name for name in HEADS if f"{name}.weight" in wanted), "head")
    weight, bias = f"{head}.weight", f"{head}.bias"
    own, theirs = wanted.get(weight), found.get(weight)
    if own is not None:
        if theirs is None or (theirs.shape[:1] != own.shape[:1] and theirs.shape[1:] == own.shape[1:]):
            found |= {name: wanted[name] for name in (weight, bias) if name in wanted}
        if bias not in wanted:
            found.pop(bias, None)
    for name, fresh in wanted.items():
        if name.endswith("num_batches_tracked"):
            found.setdefault(name, fresh)  # old files lack these
    for name in sorted(found.keys() | wanted.keys()):
        needed, given = (list(each[name].shape) if name in each else None for each in (wanted, found))
        if needed != given:
            raise InputError(
                f"the weights in {weights.name} do not fit the network, where '{name}' is {needed} and not "
                f"{given}: give those of the same network."
            )
    return {**state, **{name: found[name].to(fresh.dtype) for name, fresh in wanted.items()}}
