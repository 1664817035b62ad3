"""Pictures in tar files: labels from either kind of member, and nothing but regular files is read."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from noiselimit import InputError
from noiselimit.data.catalogue import load_data
from noiselimit.data.pictures import read_whole
from noiselimit.data.reading import Reading


def write_tar(path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> None:
    with tarfile.open(path, "w") as file:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                file.addfile(content)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                file.addfile(info, io.BytesIO(content))


def picture(shade: int) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (40, 36), (shade, 0, 0)).save(content, "PNG")
    return content.getvalue()


def write_tars(folder: Path) -> None:
    for number in range(2):
        members: dict[str, bytes | tarfile.TarInfo] = {}
        for row in range(4):
            label = str(row % 2)
            members[f"a/{row}.seg.png"] = picture(100 * number + row)
            members[f"a/{row}.cls"] = f"{label}\n".encode()
            members[f"b{row}.PNG"] = picture(50 + 100 * number + row)
            members[f"b{row}.json"] = json.dumps({"label": int(label), "other": [1]}).encode()
        write_tar(folder / f"{number:03d}.tar", members)


def test_reads_pictures_and_labels_in_place(tmp_path: Path) -> None:
    write_tars(tmp_path)
    data = load_data(tmp_path, reading=Reading(features_side=32))
    examples = data.examples
    assert examples.class_names == ("0", "1")
    assert examples.names is not None
    assert list(examples.names[:3]) == ["000.tar/a/0.seg.png", "000.tar/b0.PNG", "000.tar/a/1.seg.png"]
    assert examples.labels.tolist() == [0, 0, 1, 1, 0, 0, 1, 1] * 2
    assert examples.inputs.shape == (16, 3, 32, 32)
    shades = [0, 50, 1, 51, 2, 52, 3, 53, 100, 150, 101, 151, 102, 152, 103, 153]
    assert examples.inputs[:][:, 0, 16, 16].tolist() == shades
    assert load_data(tmp_path).examples.inputs.shape == (16, 3, 36, 40)


def test_hostile_members_are_not_read(tmp_path: Path) -> None:
    write_tars(tmp_path)
    link, device = tarfile.TarInfo("link.png"), tarfile.TarInfo("device.png")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device.type = tarfile.CHRTYPE
    outside = {"../../outside.png": picture(9), "../../outside.cls": b"0", ".hidden.png": picture(9)}
    write_tar(tmp_path / "002.tar", {"link.png": link, "device.png": device, **outside})
    names = load_data(tmp_path).examples.names
    assert names is not None
    assert list(names[16:]) == ["002.tar/../../outside.png"]  # a name, and never a path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000.tar", "001.tar", "002.tar"]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.png", b"no picture", "b.tar/a.png"),
        ("a.json", b"{", "b.tar"),
        ("a.json", b'{"label": 0.5}', "b.tar"),
        ("a.json", b'{"label": [0]}', "b.tar"),
        ("a.cls", b"\xff", "b.tar"),
        (None, b"no tar file", "b.tar"),
        (None, b"", "b.tar"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str | None, content: bytes, word: str) -> None:
    write_tars(tmp_path)
    if name is None:
        (tmp_path / "b.tar").write_bytes(content)
    else:
        write_tar(tmp_path / "b.tar", {"a.png": picture(1), "a.cls": b"0", name: content})
    with pytest.raises(InputError) as caught:
        load_data(tmp_path)
    assert word in str(caught.value)


def test_damaged_pictures_can_be_skipped(tmp_path: Path) -> None:
    write_tars(tmp_path)
    write_tar(tmp_path / "b.tar", {"a.png": b"no picture", "a.cls": b"0", "b.png": picture(7)})
    data = load_data(tmp_path, reading=Reading(skip_bad_images=True, keep_unlabelled=True))
    assert len(data.examples) == 17
    assert data.examples.labels[-1] == -1  # b.png has no label
    assert any("b.tar/a.png" in note for note in data.notes)


def test_the_whole_picture_for_a_review(tmp_path: Path) -> None:
    write_tars(tmp_path)
    inputs = load_data(tmp_path, reading=Reading(features_side=32)).examples.inputs
    whole = read_whole(inputs.member(3), 1000)  # type: ignore[union-attr]
    assert whole.size == (40, 36)
    assert np.asarray(whole)[0, 0].tolist() == [51, 0, 0]
