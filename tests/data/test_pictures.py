"""Picture files become arrays, whatever their kind; damaged ones become an InputError."""

import io
import os
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from noiselimit.data import pictures
from noiselimit.data.arrays import View
from noiselimit.data.pictures import (
    Cut,
    PictureFiles,
    check_picture,
    for_each,
    read_header,
    read_picture,
)
from noiselimit.engine import block_data
from noiselimit.errors import InputError

WHERE = st.floats(0, 1, exclude_max=True)
SIZES = st.tuples(st.integers(1, 3000), st.integers(1, 3000))
LAST = np.nextafter(1, 0)


@st.composite
def cuts(draw):
    height, width = draw(st.integers(1, 64)), draw(st.integers(1, 64))
    return Cut(height, width, max(height, width) + draw(st.integers(0, 40)))


@given(cut=cuts(), size=SIZES, down=WHERE, across=WHERE)
def test_a_crop_lies_inside_the_picture_and_keeps_its_proportions(cut, size, down, across):
    left, upper, right, lower = cut.box(size, View(False, down, across))
    scale = min(size) / cut.resize
    assert 0 <= left < right <= size[0]
    assert 0 <= upper < lower <= size[1]
    assert right - left == pytest.approx(cut.width * scale)
    assert lower - upper == pytest.approx(cut.height * scale)


def test_the_corners_can_be_reached():
    cut = Cut(4, 6, 8)
    assert cut.box((16, 16), View(False, 0, 0)) == (0, 0, 12, 8)
    assert cut.box((16, 16), View(False, LAST, LAST)) == (4, 8, 16, 16)
    with pytest.raises(ValueError, match="larger"):
        Cut(6, 4, 5)


@pytest.fixture
def save(tmp_path):
    """Save a picture and return its path."""

    def write(image, name="picture.png", **options):
        image.save(tmp_path / name, **options)
        return tmp_path / name

    return write


def ramp(height=12, width=20):
    """A colour picture whose every pixel differs from its mirror image."""
    values = np.arange(height * width * 3).reshape(height, width, 3)
    return Image.fromarray((values * 255 // values.max()).astype(np.uint8))


@pytest.mark.parametrize("cut", [Cut(10, 10, 12), Cut(12, 20)])
def test_flips_mirror_the_crop(save, cut):
    path = save(ramp())
    for where in ((0.5, 0.5), (0, LAST), (0.3, 0.8)):
        plain, flipped = (read_picture(path, cut, View(flip, *where)) for flip in (False, True))
        assert not np.array_equal(flipped, plain)
        assert np.array_equal(flipped[:, :, ::-1], plain)


@pytest.mark.parametrize("size", [(20, 12), (12, 20)])
def test_scaling_and_cropping_match_pillow_in_two_steps(save, size):
    image = ramp(*size).resize((size[0] * 4, size[1] * 4))
    scaled = np.asarray(image.resize((30, 18) if size[0] > 12 else (18, 30), Image.Resampling.BILINEAR))
    window = scaled[6:24, :] if size[0] < 20 else scaled[:, 6:24]
    read = read_picture(save(image), Cut(18, 18, 18)).transpose(1, 2, 0)
    assert np.abs(read.astype(int) - window).max() <= 1


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I"])
def test_every_kind_of_pixel_is_read(save, mode):
    grey = Image.fromarray(np.tile(np.array([0, 255], np.uint8), (4, 2)))
    wide = Image.fromarray(np.tile(np.array([0, 65535], np.uint16), (4, 2)))
    image = wide if mode == "I;16" else wide.convert("I") if mode == "I" else grey.convert(mode)
    path = save(image, "picture.tif" if mode in {"PA", "CMYK", "YCbCr", "I"} else "picture.png")
    for channels in (1, 3):
        pixels = read_picture(path, Cut(4, 4, channels=channels))
        assert (pixels.shape, pixels.dtype) == ((channels, 4, 4), np.uint8)
        assert (pixels[:, :, ::2] <= 1).all()
        assert (pixels[:, :, 1::2] >= 254).all()


def test_sixteen_bits_keep_their_shades(save):
    shades = np.arange(0, 65536, 4096, dtype=np.uint16).reshape(4, 4)
    assert np.array_equal(read_picture(save(Image.fromarray(shades)), Cut(4, 4, channels=1))[0], shades >> 8)


@pytest.mark.parametrize("mode", ["RGBA", "P", "LA"])
def test_transparent_pixels_are_white(save, mode):
    image = Image.new("RGBA", (2, 2), (0, 0, 0, 0)).convert(mode)
    path = save(image, transparency=bytes(256)) if mode == "P" else save(image)
    assert (read_picture(path, Cut(2, 2)) == 255).all()


def test_the_first_frame_of_an_animation(save):
    frames = [Image.new("L", (2, 2), shade) for shade in (0, 255)]
    path = save(frames[0], "picture.gif", save_all=True, append_images=frames[1:])
    assert (read_picture(path, Cut(2, 2)) == 0).all()


def test_a_photograph_is_turned_upright(save):
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = 6  # the camera was held on its side
    path = save(ramp(), exif=exif)
    assert read_header(path) == (12, 20, False)
    upright = np.asarray(ramp().rotate(270, expand=True))
    assert np.array_equal(read_picture(path, Cut(20, 12)).transpose(1, 2, 0), upright)


def test_a_large_jpeg_is_decoded_small_and_looks_the_same(save):
    image = ramp().resize((800, 640), Image.Resampling.BILINEAR)
    jpeg, png = save(image, "picture.jpg", quality=95), save(image)
    difference = read_picture(jpeg, Cut(32, 32, 32)).astype(int) - read_picture(png, Cut(32, 32, 32))
    assert np.abs(difference).max() < 8


@pytest.mark.parametrize("read", [lambda path: read_picture(path, Cut(8, 8, 8)), check_picture])
@pytest.mark.parametrize(
    "name", ["cut.jpg", "cut.png", "noise.jpg", "empty.jpg", "missing.jpg", "folder.jpg"]
)
def test_bad_files_are_named_with_the_remedy(tmp_path, read, name):
    path = tmp_path / name
    if name.startswith("cut"):
        stream = io.BytesIO()
        ramp(60, 60).save(stream, "JPEG" if name.endswith("jpg") else "PNG")
        path.write_bytes(stream.getvalue()[: len(stream.getvalue()) // 2])
    elif name.startswith("noise"):
        path.write_bytes(bytes(range(256)))
    elif name.startswith("empty"):
        path.touch()
    elif name.startswith("folder"):
        path.mkdir()
    with pytest.raises(InputError, match=f"/{name}: .*--skip-bad-images"):
        read(path)


def test_pictures_that_cannot_be_used(save):
    with pytest.raises(InputError, match="real numbers"):
        read_picture(save(Image.fromarray(np.ones((2, 2), np.float32)), "picture.tif"), Cut(2, 2))
    with pytest.raises(InputError, match=r"20 × 12 .*--resize"):
        read_picture(save(ramp()), Cut(12, 12))


@pytest.mark.parametrize("where", [(0.5, 0.5), (0, 0), (0, LAST), (LAST, 0), (LAST, LAST), (0.2, 0.9)])
@pytest.mark.parametrize("flip", [False, True])
def test_unscaled_pictures_are_cropped_as_the_device_crops_those_in_memory(save, where, flip):
    path, cut = save(ramp()), Cut(12, 20)
    whole = read_picture(path, cut)
    down, across = (torch.tensor([[value]], dtype=torch.float64) for value in where)
    views = block_data.Views(torch.tensor([[flip]]), down, across)
    wanted = block_data.cut(torch.from_numpy(whole)[None, None], views)[0, 0].numpy()
    found = read_picture(path, cut, View(flip, *where))
    assert np.array_equal(found, wanted)
    if where == (0.5, 0.5) and not flip:
        assert np.array_equal(found, whole)


CUT = Cut(4, 4, 6)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Five pictures, each of one shade."""
    folder = tmp_path_factory.mktemp("pictures")
    for row in range(5):
        Image.new("RGB", (9, 6 + row), (40 * row,) * 3).save(folder / f"{row}.png")
    return PictureFiles(folder, [f"{row}.png" for row in range(5)], CUT)


def test_files_are_indexed_like_an_array(files):
    assert files.shape == (5, 3, 4, 4)
    assert files[np.array([4, 0])][:, 0, 0, 0].tolist() == [160, 0]
    taken = pickle.loads(pickle.dumps(files.take([3, 1, 3])))  # as workers receive them
    assert [int(taken.read(row, View(True))[0, 0, 0]) for row in range(3)] == [120, 40, 120]


def test_the_digest_covers_names_sizes_and_cut_but_not_the_folder(files, tmp_path):
    for row in range(5):
        os.link(files.folder / f"{row}.png", tmp_path / f"{row}.png")
    assert PictureFiles(tmp_path, files.paths, CUT).digest == files.digest
    others = [
        PictureFiles(tmp_path, files.paths, Cut(4, 4, 5)),
        PictureFiles(tmp_path, files.paths, Cut(4, 4, 6, channels=1)),
        PictureFiles(tmp_path, files.paths, Cut(5, 4, 6)),
        files.take([1, 0, 2, 3, 4]),
        files.take([0, 1, 2, 3]),
    ]
    (tmp_path / "2.png").unlink()
    others.append(PictureFiles(tmp_path, files.paths, CUT))
    assert len({one.digest for one in [files, *others]}) == 7


def test_the_digest_of_the_first_version(tmp_path):
    for name, size in (("a/1.png", 3), ("a/ü.png", 70)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    digest = PictureFiles(tmp_path, ["a/1.png", "a/ü.png", "missing.png"], CUT).digest
    assert digest.hex()[:32] == "91c33bafbbadedc0f2ceaee5c7195daa"


def test_work_is_done_once_for_each_number_and_the_first_failure_is_raised(monkeypatch):
    monkeypatch.setattr(pictures, "PIECE", 3)
    done: list[int] = []
    for_each(done.append, 20)
    assert sorted(done) == list(range(20))

    def fail(row):
        if row >= 5:
            raise InputError(str(row))

    with pytest.raises(InputError, match=r"^5$"):
        for_each(fail, 50)
