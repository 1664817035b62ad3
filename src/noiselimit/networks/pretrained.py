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

_PICKLES = {".pth", ".pt", ".bin", ".ckpt", ".pkl", ".pickle", ".tar"}


@dataclass(frozen=True)
class WeightsFile:
    """The content of a weights file. Files with equal content are equal, wherever they are.

    Parameters
    ----------
    name : str
        The file's name, without its folder.
    digest : str
        SHA-256 of the content, in hexadecimal digits.
    tensors : mapping of str to Tensor, optional
        The weights; None if only the mention in a run folder is known.
    """

    name: str = field(compare=False)
    digest: str
    tensors: Mapping[str, Tensor] | None = field(default=None, compare=False, repr=False)

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
    if path.suffix.lower() in _PICKLES:
        raise InputError(
            f"{path} is a pickle, which can run code when loaded: convert it with "
            f"safetensors.torch.save_file(torch.load('{path.name}', weights_only=True), "
            f"'{path.stem}.safetensors') and give the new file."
        )
    try:
        content = read_bytes(path)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(f"cannot read {path} ({reason}): give a .safetensors file of weights.") from None
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, RuntimeError):
        raise InputError(
            f"{path} is damaged or not a safetensors file: write it with safetensors.torch.save_file."
        ) from None
    return WeightsFile(path.name, hashlib.sha256(content).hexdigest(), tensors)


def with_pretrained(state: Mapping[str, Tensor], weights: WeightsFile) -> dict[str, Tensor]:
    """Return the state dict with the file's weights in it.

    The last layer stays as it is if the file has none, or one for another number of classes.
    """
    if weights.tensors is None:
        raise InputError(f"the weights of {weights.name} are not loaded: give the file again.")
    found, wanted = without_draws(weights.tensors), without_draws(state)
    head = _head_of_other_classes(state, found)
    taken = {}
    for name, fresh in wanted.items():
        if name in head:
            continue
        tensor = found.get(name)
        if tensor is not None and tensor.shape == fresh.shape:
            taken[name] = tensor.to(fresh.dtype)
        elif tensor is not None or not name.endswith("num_batches_tracked"):  # old files lack these
            has = "has no such tensor" if tensor is None else f"has {list(tensor.shape)}"
            raise _misfit(weights, f"'{name}' should be {list(fresh.shape)}, but the file {has}")
    heads = {f"{name}.bias" for name in HEADS if f"{name}.weight" in state}  # a head may lack its bias
    if extra := sorted(set(found) - set(state) - heads):
        raise _misfit(weights, f"the network has no '{extra[0]}'")
    return {**state, **taken}


def _head_of_other_classes(state: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> tuple[str, ...]:
    """Names of the last layer's tensors if the file has no head, or one for another number of classes."""
    for name in HEADS:
        own = state.get(f"{name}.weight")
        if own is None or own.dim() != 2:
            continue
        names = f"{name}.weight", f"{name}.bias"
        weight = found.get(names[0])
        if weight is None:
            return () if names[1] in found else names
        other = weight.dim() == 2 and len(weight) != len(own) and weight.shape[1] == own.shape[1]
        return names if other else ()
    return ()


def _misfit(weights: WeightsFile, what: str) -> InputError:
    return InputError(
        f"the weights in {weights.name} do not fit the network ({what}): give those of the same network."
    )
