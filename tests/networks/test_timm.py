"""timm's models train as they are, with every kind of dropout, and their last layer is found."""

import re
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import numpy as np
import pytest

from noiselimit import RunSpec, train
from noiselimit.data.examples import DataSet

OF_TORCHVISION = [
    "torchvision", "torchvision.datasets", "torchvision.models", "torchvision.models.feature_extraction",
    "torchvision.ops", "torchvision.ops.misc", "torchvision.transforms", "torchvision.transforms.functional",
]  # fmt: skip


def import_timm() -> Any:
    """timm imports torchvision, of which its models need nothing but the name of a class.

    The published build of torchvision does not import beside a CPU build of torch.
    """
    missing = OF_TORCHVISION if find_spec("torchvision") is None else []
    with patch.dict(sys.modules):
        sys.modules.update({name: MagicMock(FrozenBatchNorm2d=type("Frozen", (), {})) for name in missing})
        import timm

        loaded = {name: module for name, module in sys.modules.items() if name not in missing}
    sys.modules.update(loaded)
    return timm


if find_spec("timm") is None:
    pytest.skip("timm is not installed", allow_module_level=True)
timm = import_timm()

SMALL = {"img_size": 8, "patch_size": 4, "in_chans": 1, "depth": 1, "embed_dim": 24, "num_heads": 2}
DROPS = dict.fromkeys(
    ("drop_rate", "attn_drop_rate", "proj_drop_rate", "drop_path_rate", "pos_drop_rate"), 0.1
)
MODELS: dict[str, Any] = {
    "vision transformer": partial(timm.create_model, "vit_tiny_patch16_224", **SMALL, **DROPS),
    "for 1000 classes": timm.create_model("vit_tiny_patch16_224", **SMALL, **DROPS),
    "convnext": timm.create_model(
        "convnext_atto", in_chans=1, patch_size=1, drop_path_rate=0.1, depths=(1,) * 4
    ),
}


@pytest.mark.parametrize("network", MODELS.values(), ids=MODELS)
def test_a_model_trains_reproducibly(network: Any, tiny_images: DataSet) -> None:
    spec = RunSpec(network=network, epochs=1, batch_size=16)
    first, second = (train(spec, tiny_images, threads=2)[0] for _ in range(2))
    assert first.history == second.history
    assert np.isfinite(first.predict_proba(tiny_images.examples.inputs)).all()


def test_the_documented_example_runs(tiny_images: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, with a small network that is not downloaded."""
    page = Path(__file__).resolve().parents[2] / "docs" / "networks.md"
    (example,) = re.findall(r"^```py\n(.*?timm.*?)^```", page.read_text("utf-8"), re.M | re.S)
    create = timm.create_model
    monkeypatch.setattr(
        timm, "create_model", lambda name, pretrained, **more: create(name, pretrained=False, **SMALL, **more)
    )
    known = {"pictures": tiny_images.examples.inputs, "labels": tiny_images.examples.labels}
    exec(compile(example, "networks.md", "exec"), known)
