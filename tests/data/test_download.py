"""Downloads from mirrors that may fail, all of them on this machine, and archives."""

import gzip
import hashlib
import io
from dataclasses import replace

import pytest

from noiselimit.data.download import Published, download, extract, has_digest
from noiselimit.errors import InputError

CONTENT = b"what there is to fetch" * 99


def published(*mirrors: str, most_bytes: int = 10**6) -> Published:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Published("file.bin", digest, mirrors, most_bytes, "do it by hand.")


@pytest.mark.parametrize("kind", [hashlib.md5, hashlib.sha256])
def test_a_whole_file_arrives(file_server, tmp_path, kind):
    (file_server.folder / "file.bin").write_bytes(CONTENT)
    digest, progress = kind(CONTENT).hexdigest(), []
    path = tmp_path / "new" / "file.bin"
    download(replace(published(file_server.url), digest=digest), path, lambda *call: progress.append(call))
    assert path.read_bytes() == CONTENT
    assert progress[-1] == ("file.bin", len(CONTENT))
    assert has_digest(path, digest)
    assert not has_digest(path, digest[::-1])
    assert not has_digest(tmp_path / "absent", digest)


@pytest.mark.parametrize("served", [CONTENT[:-1], CONTENT + b"x", b""])
def test_other_content_leaves_the_old_file(file_server, tmp_path, served):
    (file_server.folder / "file.bin").write_bytes(served)
    path = tmp_path / "file.bin"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match=r"^file\.bin .*do it by hand"):
        download(published(file_server.url), path)
    assert path.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file.bin", "served"]


def test_bad_mirrors_are_passed_over(file_server, tmp_path):
    for name, content in (("bad", CONTENT * 2), ("good", CONTENT)):
        (file_server.folder / name).mkdir()
        (file_server.folder / name / "file.bin").write_bytes(content)
    mirrors = [file_server.url + name for name in ("absent", "bad", "good")]
    download(published(*mirrors), tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert file_server.asked == ["/absent/file.bin", "/bad/file.bin", "/good/file.bin"]


def test_an_endless_answer_is_cut(file_server, tmp_path):
    (file_server.folder / "file.bin").write_bytes(CONTENT)
    with pytest.raises(InputError, match="larger"):
        download(published(file_server.url, most_bytes=99), tmp_path / "file.bin")


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"other"), gzip.compress(CONTENT)[:-9]])
def test_damaged_compression(tmp_path, content):
    (tmp_path / "file.gz").write_bytes(content)
    assert not has_digest(tmp_path / "file.gz", hashlib.sha256(CONTENT).hexdigest(), unpacked=True)
    (tmp_path / "file.gz").write_bytes(gzip.compress(CONTENT))
    assert has_digest(tmp_path / "file.gz", hashlib.sha256(CONTENT).hexdigest(), unpacked=True)


def test_a_folder_that_cannot_be_written(file_server, tmp_path):
    (file_server.folder / "file.bin").write_bytes(CONTENT)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        download(published(file_server.url), tmp_path / "file" / "file.bin")


def test_only_the_named_members_are_unpacked(tmp_path, tar_gz):
    archive = tar_gz({"../evil": b"e", "/evil": b"e", "in/a": b"A", "in/b": b"B", "a": b"no"})
    extract(io.BytesIO(archive), {"in/a": tmp_path / "x" / "a"}, "it")
    assert (tmp_path / "x" / "a").read_bytes() == b"A"
    assert [path.name for path in tmp_path.rglob("*")] == ["x", "a"]


def test_damaged_archives(tmp_path, tar_gz):
    for content in (
        tar_gz({"b": b"B"}),
        tar_gz({"b": bytes(99999), "a": b"A"})[:-40],
        b"nothing",
    ):
        with pytest.raises(InputError, match=r"^it "):
            extract(io.BytesIO(content), {"a": tmp_path / "a"}, "it")
        assert not list(tmp_path.iterdir())
