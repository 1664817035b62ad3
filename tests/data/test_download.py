"""Fetching files and archives from mirrors, all of them on this machine."""

import hashlib
import io
import tarfile

import pytest

from noiselimit.data import cifar as cifar_download
from noiselimit.data import cifar10n
from noiselimit.data.catalogue import load_data
from noiselimit.data.cifar import ARCHIVES, CIFAR10, CIFAR100, download_cifar
from noiselimit.data.download import Published, download, extract, has_digest
from noiselimit.errors import InputError

CONTENT = b"what there is to fetch" * 99


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def published(content: bytes, *mirrors: str, most_bytes: int = 10**6, name: str = "file.bin") -> Published:
    return Published(name, md5(content), mirrors, most_bytes, "the data", "do it by hand.")


def tar_gz(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            member = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)
    return stream.getvalue()


def test_a_file_arrives_whole_whichever_digest_is_published(file_server, tmp_path):
    (file_server.folder / "file.bin").write_bytes(CONTENT)
    for digest in (md5(CONTENT), hashlib.sha256(CONTENT).hexdigest()):
        told = []
        path = tmp_path / "new" / digest
        file = Published("file.bin", digest, (file_server.url,), 10**6, "the data", "")
        download(file, path, lambda *call: told.append(call))  # noqa: B023 - called at once
        assert path.read_bytes() == CONTENT
        assert told[-1] == ("file.bin", len(CONTENT))
        assert has_digest(path, digest, 10**6)
        assert not has_digest(path, digest[::-1], 10**6)


@pytest.mark.parametrize("served", [CONTENT[:-1], CONTENT + b"x", b""])
def test_other_content_leaves_what_was_there(file_server, tmp_path, served):
    (file_server.folder / "file.bin").write_bytes(served)
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match=r"^file\.bin could not be downloaded \(.* another content\); do it"):
        download(published(CONTENT, file_server.url), path)
    assert path.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file.bin", "served"]


def test_a_longer_answer_of_a_bad_mirror_leaves_nothing_behind(file_server, tmp_path):
    for name, content in (("bad", CONTENT * 2), ("good", CONTENT)):
        (file_server.folder / name).mkdir()
        (file_server.folder / name / "file.bin").write_bytes(content)
    mirrors = [file_server.url + name for name in ("absent", "bad", "good")]
    download(published(CONTENT, *mirrors), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert file_server.asked == ["/absent/file.bin", "/bad/file.bin", "/good/file.bin"]


def test_an_answer_without_end_is_cut(file_server, tmp_path):
    (file_server.folder / "file.bin").write_bytes(CONTENT)
    with pytest.raises(InputError, match="the answer is far larger than the data"):
        download(published(CONTENT, file_server.url, most_bytes=99), tmp_path / "file.bin")


def test_only_the_named_members_are_unpacked(tmp_path):
    archive = tar_gz({"../evil": b"e", "/evil": b"e", "in/a": b"A", "in/b": b"B", "a": b"no"})
    extract(io.BytesIO(archive), {"in/a": tmp_path / "x" / "a"}, 9, "it")
    assert (tmp_path / "x" / "a").read_bytes() == b"A"
    assert [path.name for path in tmp_path.rglob("*")] == ["x", "a"]


def link(kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo("a")
    member.type, member.linkname = kind, "/etc/passwd"
    return member


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (tar_gz({"a": link(tarfile.SYMTYPE)}), "it cannot be unpacked .a is no file"),
        (tar_gz({"a": link(tarfile.LNKTYPE)}), "it cannot be unpacked .a is no file"),
        (tar_gz({"a": link(tarfile.DIRTYPE)}), "it cannot be unpacked .a is no file"),
        (tar_gz({"a": b"more than nine"}), "it cannot be unpacked .a is no file of at most 9 bytes"),
        (tar_gz({"b": b"B"}), "it lacks a; fetch it again"),
        (tar_gz({"b": bytes(99999), "a": b"A"})[:-40], "it cannot be unpacked"),
        (b"nothing", "it cannot be unpacked"),
    ],
)
def test_bad_archives(tmp_path, content, sentence):
    with pytest.raises(InputError, match=sentence):
        extract(io.BytesIO(content), {"a": tmp_path / "a"}, 9, "it")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def official(file_server, tmp_path, monkeypatch, write_cifar10):
    """The small CIFAR-10 as an archive on the server, whose digests count as the published ones."""
    write_cifar10(tmp_path / "source")
    files = {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()}
    members = {f"cifar-10-batches-bin/{name}": content for name, content in files.items()}
    names = b"\n".join(name.encode() for name in CIFAR10.class_names)
    archive = tar_gz(members | {"cifar-10-batches-bin/batches.meta.txt": names, "../evil": b""})
    (file_server.folder / "cifar-10-binary.tar.gz").write_bytes(archive)
    file = published(archive, file_server.url, name="cifar-10-binary.tar.gz")
    entry = cifar_download.Archive(file, {name: md5(content) for name, content in files.items()})
    monkeypatch.setitem(ARCHIVES, "cifar10", entry)
    return file_server


def test_cifar10_is_fetched_once_and_again_when_damaged(official, tmp_path):
    data = load_data("cifar10", tmp_path / "data", download=True)
    assert len(data.examples) == 60
    folder = tmp_path / "data" / "cifar10" / "cifar-10-batches-bin"
    assert len(list(folder.iterdir())) == 7
    assert not list((tmp_path / "data").rglob("evil"))
    load_data("cifar10", tmp_path / "data", download=True)
    assert official.asked == ["/cifar-10-binary.tar.gz"]
    (folder / "data_batch_4.bin").write_bytes(b"half")
    assert load_data("cifar10", tmp_path / "data", download=True).fingerprint == data.fingerprint
    assert len(official.asked) == 2


def test_the_python_version_is_left_as_it_is(official, tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "data_batch_1").touch()
    download_cifar(CIFAR10, tmp_path)
    assert official.asked == []


def test_cifar10n_fetches_its_labels_and_cifar10_only_where_it_is_missing(official, tmp_path, monkeypatch):
    (official.folder / "CIFAR-10_human.pt").write_bytes(CONTENT)
    file = published(CONTENT, official.url, name="CIFAR-10_human.pt")
    monkeypatch.setattr(cifar10n, "PUBLISHED", file)
    for _ in range(2):
        cifar10n.download_cifar10n(tmp_path / "one" / "cifar10n")
    assert official.asked == ["/CIFAR-10_human.pt", "/cifar-10-binary.tar.gz"]
    assert cifar10n.holds_cifar10n(tmp_path / "one" / "cifar10n")

    official.asked.clear()
    load_data("cifar10", tmp_path / "two", download=True)
    (tmp_path / "two" / "cifar10n").mkdir()
    (tmp_path / "two" / "cifar10n" / "CIFAR-10_human_ordered.npy").touch()  # of no use
    cifar10n.download_cifar10n(tmp_path / "two" / "cifar10n")
    assert official.asked == ["/cifar-10-binary.tar.gz", "/CIFAR-10_human.pt"]
    assert cifar10n.holds_cifar10n(tmp_path / "two")


@pytest.mark.parametrize("cifar", [CIFAR10, CIFAR100])
def test_every_file_of_examples_has_a_digest(cifar):
    archive = ARCHIVES[cifar.name]
    assert set(archive.digests) == {*cifar.binary.train, cifar.binary.test}
    assert all(len(digest) == 32 for digest in (archive.file.digest, *archive.digests.values()))
