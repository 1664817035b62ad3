"""Random flips and crops."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.block_data import PADDING, Views, cut, draw_views
from noiselimit.randomness import Stream, stream_keys

CPU = torch.device("cpu")
KEYS = stream_keys([0, 1], Stream.AUGMENTATION, CPU)


@given(
    flip=st.booleans(),
    down=st.floats(0, 1, exclude_max=True, width=32),
    across=st.floats(0, 1, exclude_max=True, width=32),
    height=st.integers(1, 7),
    width=st.integers(1, 7),
)
def test_a_crop_is_a_window_of_the_padded_picture(
    flip: bool, down: float, across: float, height: int, width: int
) -> None:
    picture = np.arange(1, 2 * height * width + 1, dtype=np.uint8).reshape(2, height, width)
    padded = np.pad(picture, [(0, 0), (PADDING, PADDING), (PADDING, PADDING)])
    top, left = int(down * 9), int(across * 9)
    expected = padded[:, top : top + height, left : left + width]
    view = Views(*(torch.tensor([[value]]) for value in (flip, down, across)))
    found = cut(torch.from_numpy(picture)[None, None], view)[0, 0].numpy()
    np.testing.assert_array_equal(found, expected[:, :, ::-1] if flip else expected)
    assert found.dtype == np.uint8


@pytest.mark.parametrize("name", ["flip", "crop", "flip-crop"])
def test_draws_are_fair_and_only_as_requested(name: str) -> None:
    flip, crop = "flip" in name, "crop" in name
    views = draw_views(name, KEYS, torch.tensor(1), torch.arange(20_000).expand(2, -1))
    assert views.flip.float().mean() == pytest.approx(0.5 if flip else 0, abs=0.02)
    for fraction in (views.down, views.across):
        places = (fraction * 9).long().flatten().bincount(minlength=9) / fraction.numel()
        if crop:
            torch.testing.assert_close(places, torch.full((9,), 1 / 9), atol=0.01, rtol=0)
        else:
            assert places[PADDING] == 1
    if crop:
        both = torch.stack([views.down.flatten(), views.across.flatten(), views.flip.flatten().float()])
        off_diagonal = torch.corrcoef(both).nan_to_num(0).fill_diagonal_(0)
        assert off_diagonal.abs().max() < 0.03


def test_a_view_depends_on_seed_epoch_and_place_alone() -> None:
    whole = draw_views("flip-crop", KEYS, torch.tensor(3), torch.arange(10).expand(2, -1))
    part = draw_views("flip-crop", KEYS[1:], torch.tensor(3), torch.arange(4, 7).expand(1, -1))
    assert part.first_row(0, 3) == Views(*(values[1:] for values in whole)).first_row(4, 7)
    later = draw_views("flip-crop", KEYS, torch.tensor(4), torch.arange(10).expand(2, -1))
    assert later.first_row(0, 10) != whole.first_row(0, 10)
