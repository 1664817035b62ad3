"""Taking files out of an archive by their names, which keeps the rest of it from being anywhere."""

import gzip
import hashlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO

from noiselimit.errors import InputError
from noiselimit.files import atomic_file, open_regular

PIECE = 2**20  # read in pieces, so that memory does not grow with what a server sends
TIMEOUT = 30.0  # seconds without an answer

Progress = Callable[[str, int], None]  # told the file's name and the bytes of it that have arrived
DAMAGED = (OSError, EOFError, zlib.error, HTTPException)  # gzip.BadGzipFile and URLError are OSErrors


@dataclass(frozen=True)
class Published:
    """A file as it can be fetched, and how to tell that it is whole."""

    name: str
    digest: str  # hexadecimal MD5 or SHA-256, whichever its authors or we can vouch for; the length tells
    mirrors: tuple[str, ...]  # addresses of folders
    most_bytes: int  # more than this is not the file
    belongs_to: str  # the data set, for messages
    remedy: str  # what to do where no mirror helps, to stand after a semicolon
    unpacked: bool = False  # whether the digest is that of the file inside gzip: mirrors compress differently


@contextmanager
def fetched(file: Published, progress: Progress | None = None) -> Iterator[BinaryIO]:
    """The file, whole and open at its start; it is gone when the block ends."""
    with tempfile.TemporaryFile() as content:
        _fetch_from_any(file, content, progress)
        content.seek(0)
        yield content


def download(file: Published, path: Path, progress: Progress | None = None) -> None:
    """Fetch the file to `path`, which stays as it was unless all of it arrives."""
    with (
        fetched(file, progress) as content,
        atomic_file(path) as temporary,
        temporary.open("wb") as target,
    ):
        shutil.copyfileobj(content, target)


def has_digest(path: Path, digest: str, most_bytes: int, *, unpacked: bool = False) -> bool:
    """Whether the file is there and whole."""
    try:
        with open_regular(path) as stream:
            return _digest(stream, digest, most_bytes, unpacked) == digest
    except DAMAGED:
        return False


def _fetch_from_any(file: Published, content: BinaryIO, progress: Progress | None) -> None:
    reason: object = "there is no mirror"
    for mirror in file.mirrors:
        content.seek(0)
        content.truncate()
        try:
            _fetch(f"{mirror.rstrip('/')}/{file.name}", file, content, progress)
            content.seek(0)
            if _digest(content, file.digest, file.most_bytes, file.unpacked) == file.digest:
                return
            reason = f"{mirror} has another content"
        except DAMAGED as error:
            reason = f"{mirror}: {error}"
    raise InputError(f"{file.name} could not be downloaded ({reason}); {file.remedy}")


def _fetch(url: str, file: Published, content: BinaryIO, progress: Progress | None) -> None:
    from urllib.request import urlopen  # slow to import, and most sessions never download

    arrived = 0
    with urlopen(url, timeout=TIMEOUT) as response:
        while piece := response.read(PIECE):
            content.write(piece)
            arrived += len(piece)
            if progress:
                progress(file.name, arrived)
            if arrived > file.most_bytes:
                raise OSError(f"the answer is far larger than {file.belongs_to}")


def _digest(stream: BinaryIO, like: str, most_bytes: int, unpacked: bool) -> str:
    """The digest of the content, which is read in pieces and not far beyond `most_bytes`."""
    digest = hashlib.md5(usedforsecurity=False) if len(like) == 32 else hashlib.sha256()
    source = gzip.GzipFile(fileobj=stream) if unpacked else stream
    for _ in range(most_bytes // PIECE + 1):
        digest.update(source.read(PIECE))
    return digest.hexdigest()


def extract(archive: BinaryIO, targets: Mapping[str, Path], most_bytes: int, source: str) -> None:
    """Write each member of a .tar.gz that `targets` names to its path; other members are passed over.

    `most_bytes` is the most that one member may have, and `source` names the archive in messages.
    """
    missing = dict(targets)
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as members:
            for member in members:
                if member.name in missing:
                    _write(members, member, missing.pop(member.name), most_bytes)
    except (tarfile.TarError, *DAMAGED) as error:
        raise InputError(f"{source} cannot be unpacked ({error}); fetch it again.") from None
    if missing:
        raise InputError(f"{source} lacks {', '.join(missing)}; fetch it again.")


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, target: Path, most_bytes: int) -> None:
    content = members.extractfile(member) if member.isreg() else None
    if content is None or member.size > most_bytes:
        raise tarfile.TarError(f"{member.name} is no file of at most {most_bytes:,} bytes")
    with content, atomic_file(target) as temporary, temporary.open("wb") as file:
        shutil.copyfileobj(content, file)
