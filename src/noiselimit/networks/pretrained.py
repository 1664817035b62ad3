"""Weights from a file, to start from what was learned elsewhere; ResNets have torchvision's names."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from noiselimit.data.arrays import as_text
from noiselimit.errors import InputError
from noiselimit.files import read_bytes
from noiselimit.networks.dropout import without_draws
from noiselimit.networks.network import HEADS

_PICKLES = {".pth", ".pt", ".bin", ".ckpt", ".pkl", ".pickle", ".tar"}


@dataclass(frozen=True)
class WeightsFile:
    """What was in a file of weights. Files of equal content are equal, wherever they lie."""

    name: str = field(compare=False)
    """The file's name, without its folder."""
    digest: str
    """SHA-256 of its content, in hexadecimal digits."""
    tensors: Mapping[str, Tensor] | None = field(default=None, compare=False, repr=False)
    """Name → tensor; None when only a run folder's mention of the file is known."""

    def to_json(self) -> dict[str, str]:
        """Name and digest; the weights themselves stay in their file."""
        return {"name": self.name, "sha256": self.digest}

    @classmethod
    def from_json(cls, value: Any) -> "WeightsFile":
        """The inverse of `to_json`, without the tensors."""
        if not isinstance(value, dict) or not all(
            isinstance(value.get(key), str) for key in ("name", "sha256")
        ):
            raise InputError(f"initial_weights is {value!r}: give the name and sha256 of a file.")
        return cls(value["name"], value["sha256"])


def read_weights_file(path: str | Path) -> WeightsFile:
    """All tensors of a .safetensors file. Pickles run code when they are loaded, and are refused."""
    path = Path(path)
    if path.suffix.lower() in _PICKLES:
        raise InputError(
            f"{path} is a pickle, which can run code when it is loaded: convert it with "
            f"safetensors.torch.save_file(torch.load('{path.name}', weights_only=True), "
            f"'{path.stem}.safetensors') and give the new file."
        )
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give a .safetensors file of weights.") from None
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(f"{path} cannot be read ({reason}): give a .safetensors file of weights.") from None
    try:
        tensors = safetensors.torch.load(content)
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError, AttributeError, RuntimeError):
        raise InputError(
            f"{path} is not a safetensors file, or a damaged one: write it with safetensors.torch.save_file."
        ) from None
    return WeightsFile(as_text(path.name), hashlib.sha256(content).hexdigest(), tensors)


def with_pretrained(state: Mapping[str, Tensor], weights: WeightsFile) -> dict[str, Tensor]:
    """The state dict with the file's weights in it; a head for other classes, or none, stays fresh."""
    if weights.tensors is None:
        raise InputError(f"the weights of {weights.name} are not at hand: give the file again.")
    found = without_draws(weights.tensors)
    wanted = without_draws(state)
    head = _head_names(state)
    if _for_other_classes(head, state, found):
        wanted = {name: fresh for name, fresh in wanted.items() if name not in head}
    taken = {}
    for name, fresh in wanted.items():
        tensor = found.get(name)
        if tensor is not None and tensor.shape == fresh.shape:
            taken[name] = tensor.to(fresh.dtype)
        elif tensor is not None or not name.endswith("num_batches_tracked"):  # which old files lack
            has = "has no such tensor" if tensor is None else f"has {list(tensor.shape)}"
            raise _misfit(weights, f"'{name}' should be {list(fresh.shape)}, but the file {has}")
    foreign = sorted(name for name in found if name not in state and name not in head)
    if foreign:
        raise _misfit(weights, f"the network has no '{foreign[0]}'")
    return {**state, **taken}


def _head_names(state: Mapping[str, Tensor]) -> tuple[str, ...]:
    """Names of the last layer's weight and bias, which it may lack; none where no layer is called a head."""
    for name in HEADS:
        weight = state.get(f"{name}.weight")
        if weight is not None and weight.dim() == 2:
            return f"{name}.weight", f"{name}.bias"
    return ()


def _for_other_classes(
    head: tuple[str, ...], state: Mapping[str, Tensor], found: Mapping[str, Tensor]
) -> bool:
    """Whether the file's head, as far as it has one, is all of it for another number of classes."""
    given = {name: found[name] for name in head if name in found}
    if not given:
        return True
    weight = given.get(head[0])
    if weight is None or weight.dim() != 2 or weight.shape[1:] != state[head[0]].shape[1:]:
        return False
    others = {tuple(tensor.shape) for name, tensor in given.items() if name != head[0]}
    return len(weight) != len(state[head[0]]) and others <= {(len(weight),)}


def _misfit(weights: WeightsFile, what: str) -> InputError:
    return InputError(
        f"the weights in {weights.name} do not fit the network ({what}): give those of the same network."
    )
