"""timm's models train as they are, with every kind of dropout, and their last layer is found."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from noiselimit import RunSpec, train
from noiselimit.data.examples import DataSet

timm: Any = pytest.importorskip("timm", exc_type=ImportError)

SMALL = {"img_size": 8, "patch_size": 4, "in_chans": 1, "depth": 1, "embed_dim": 24, "num_heads": 2}
DROPS = dict.fromkeys(
    ("drop_rate", "attn_drop_rate", "proj_drop_rate", "drop_path_rate", "pos_drop_rate"), 0.1
)
MODELS: dict[str, Any] = {
    "vision transformer": partial(timm.create_model, "vit_tiny_patch16_224", **SMALL, **DROPS),
    "for 1000 classes": timm.create_model("vit_tiny_patch16_224", **SMALL, **DROPS),
    "convnext": timm.create_model("convnext_atto", in_chans=1, patch_size=1, drop_path_rate=0.1),
}


@pytest.mark.parametrize("network", MODELS.values(), ids=MODELS)
def test_a_model_trains_reproducibly(network: Any, tiny_images: DataSet) -> None:
    spec = RunSpec(network=network, epochs=1, batch_size=16)
    first, second = (train(spec, tiny_images, threads=2)[0] for _ in range(2))
    assert first.history == second.history
    assert np.isfinite(first.predict_proba(tiny_images.examples.inputs)).all()
