"""MNIST from a folder, and its download from mirrors that may fail, all of them on this machine."""

import gzip
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from noiselimit.data import mnist as module
from noiselimit.data.mnist import download_mnist, mnist
from noiselimit.errors import InputError

NAMES = [f"{part}-idx{dimensions}-ubyte.gz" for part, dimensions in module.FILES]


class Mirrors:
    """The folder of the good mirror, the paths asked for so far, and addresses of mirrors by name."""

    def __init__(self, url: str, good: Path, asked: list[str]) -> None:
        self.url, self.good, self.asked = url, good, asked

    def mirrors(self, *names: str) -> list[str]:
        return [self.url + name for name in names]


@pytest.fixture
def server(file_server, monkeypatch):
    """A mirror `good` that holds small stand-ins whose digests count as MNIST's."""
    good = file_server.folder / "good"
    good.mkdir()
    digests = {}
    for key, name in zip(module.FILES, NAMES, strict=True):
        content = name.encode() * 100
        (good / name).write_bytes(gzip.compress(content))
        digests[key] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(module, "FILES", digests)
    return Mirrors(file_server.url, good, file_server.asked)


def test_all_files_arrive_whole_and_progress_is_told(server, tmp_path):
    told = []
    download_mnist(tmp_path / "new" / "mnist", server.mirrors("good"), lambda *call: told.append(call))
    for name in NAMES:
        content = (server.good / name).read_bytes()
        assert (tmp_path / "new" / "mnist" / name).read_bytes() == content
        assert (name, len(content)) in told
    assert sorted(path.name for path in (tmp_path / "new" / "mnist").iterdir()) == sorted(NAMES)


def test_what_is_there_and_whole_is_not_fetched_again(server, tmp_path):
    download_mnist(tmp_path / "mnist", server.mirrors("good"))
    plain = tmp_path / "mnist" / NAMES[1].removesuffix(".gz")
    plain.write_bytes(gzip.decompress((tmp_path / "mnist" / NAMES[1]).read_bytes()))
    (tmp_path / "mnist" / NAMES[1]).unlink()
    (tmp_path / "mnist" / NAMES[2]).write_bytes(b"half")
    server.asked.clear()
    download_mnist(tmp_path / "mnist", server.mirrors("good"))
    assert server.asked == [f"/good/{NAMES[2]}"]
    assert (tmp_path / "mnist" / NAMES[2]).read_bytes() == (server.good / NAMES[2]).read_bytes()


@pytest.mark.parametrize(
    "content", [b"no gzip at all", gzip.compress(b"another content"), gzip.compress(b"a")[:-9]]
)
def test_a_corrupt_mirror_is_passed_over(server, tmp_path, content):
    corrupt = server.good.with_name("corrupt")
    corrupt.mkdir()
    for name in NAMES:
        (corrupt / name).write_bytes(content)
    download_mnist(tmp_path / "mnist", server.mirrors("absent", "corrupt", "good"))
    for name in NAMES:
        assert (tmp_path / "mnist" / name).read_bytes() == (server.good / name).read_bytes()
    assert f"/corrupt/{NAMES[0]}" in server.asked


def test_an_endless_answer_is_cut(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    with pytest.raises(InputError, match="the answer is far larger than MNIST"):
        download_mnist(tmp_path / "mnist", server.mirrors("good"))


@pytest.mark.parametrize("mirrors", [["absent"], []])
def test_when_no_mirror_helps_the_sentence_says_what_does(server, tmp_path, mirrors):
    with pytest.raises(
        InputError, match=rf"^{NAMES[0]} could not be downloaded \(.*\); put .* with --data-dir"
    ):
        download_mnist(tmp_path / "mnist", server.mirrors(*mirrors))
    assert not (tmp_path / "mnist").exists()


def test_a_server_that_is_down(tmp_path):
    with pytest.raises(InputError, match=r"could not be downloaded \(http://127\.0\.0\.1:9/: .*refused"):
        download_mnist(tmp_path / "mnist", ["http://127.0.0.1:9/"])


def test_a_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write to folder .*file/mnist"):
        download_mnist(tmp_path / "file" / "mnist", server.mirrors("good"))


@pytest.fixture(scope="module")
def stored() -> Path:
    folder = Path(os.environ.get("NOISELIMIT_DATA", "data")) / "mnist"
    if not folder.is_dir():
        pytest.skip("MNIST is absent: set NOISELIMIT_DATA to the folder that has it")
    return folder


def test_the_real_mnist(stored):
    data = mnist(stored)
    assert data.name == "mnist"
    assert data.examples.inputs.shape == (60000, 1, 28, 28)
    assert data.examples.inputs.dtype == np.uint8
    assert data.examples.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.test is not None
    assert data.test.inputs.shape == (10000, 1, 28, 28)
    assert data.test.labels[:5].tolist() == [7, 2, 1, 0, 4]


def test_the_real_mnist_has_the_known_digests(stored):
    download_mnist(stored, mirrors=[])
