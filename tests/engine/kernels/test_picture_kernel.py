"""The picture kernel computes what the torch version computes."""

import pytest
import torch

from noiselimit.data.arrays import PADDING
from noiselimit.engine.block_data import Views, cut, draw_views
from noiselimit.engine.kernels.pictures import make_pictures
from noiselimit.randomness import Stream, stream_keys


@pytest.mark.parametrize("augmentation", ["none", "flip", "crop", "flip-crop"])
@pytest.mark.parametrize(("shape", "dtype"), [((1, 8, 8), torch.uint8), ((3, 7, 9), torch.float32)])
def test_equals_torch(
    device: torch.device, augmentation: str, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(0)
    pictures = torch.randint(0, 256, (20, *shape), generator=generator).to(device, dtype)
    index = torch.randint(0, 20, (2, 5), generator=generator).to(device)
    mean = 100 * torch.rand(2, shape[0], generator=generator).to(device)
    std = 1 + 50 * torch.rand(2, shape[0], generator=generator).to(device)
    views: Views | None = None
    wanted = pictures[index]
    if augmentation != "none":
        keys = stream_keys([3, 4], Stream.AUGMENTATION, device)
        places = torch.arange(5, device=device).expand(2, 5)
        views = draw_views(augmentation, keys, torch.tensor(1), places)
        wanted = cut(wanted, views)
    shift, scale = (values[:, None, :, None, None] for values in (mean, std))
    made = make_pictures(pictures, index, mean, std, torch.float32, views, PADDING)
    assert made.movedim(2, -1).is_contiguous()
    torch.testing.assert_close(made, (wanted.float() - shift) / scale, atol=0, rtol=1e-6)
