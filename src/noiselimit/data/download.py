"""Downloads with checksums, and selected files from .tar.gz archives."""

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
from typing import Any, BinaryIO

from noiselimit.errors import InputError
from noiselimit.files import atomic_file

PIECE = 2**20  # bytes read at a time
TIMEOUT = 30.0  # seconds without an answer

Progress = Callable[[str, int], None]
"""Called with the file's name and the number of bytes that have arrived."""
DAMAGED = (OSError, EOFError, zlib.error, HTTPException)  # gzip.BadGzipFile and URLError are OSErrors


@dataclass(frozen=True)
class Published:
    """A file on the web and its checksum."""

    name: str
    digest: str
    """MD5 or SHA-256 in hexadecimal, told apart by their length."""
    mirrors: tuple[str, ...]
    """Addresses of folders that have the file."""
    most_bytes: int
    """An answer with more bytes than this is not the file."""
    remedy: str
    """What to do if no mirror helps; the end of an error message."""
    unpacked: bool = False
    """The digest is that of the decompressed content, because mirrors compress differently."""


def download(file: Published, path: Path, progress: Progress | None = None) -> None:
    """Download to `path`, which stays as it was unless the whole file arrives."""
    with (
        fetched(file, progress) as content,
        atomic_file(path) as temporary,
        temporary.open("wb") as target,
    ):
        shutil.copyfileobj(content, target)


@contextmanager
def fetched(file: Published, progress: Progress | None = None) -> Iterator[BinaryIO]:
    """The downloaded and verified file, open at its start; it is deleted when the block ends."""
    reason: object = "there is no mirror"
    with tempfile.TemporaryFile() as content:
        for mirror in file.mirrors:
            content.seek(0)
            content.truncate()
            try:
                _fetch(f"{mirror.rstrip('/')}/{file.name}", file, content, progress)
                content.seek(0)
                if _digest(content, file.digest, file.unpacked) == file.digest:
                    break
                reason = f"{mirror} has another content"
            except DAMAGED as error:
                reason = f"{mirror}: {error}"
        else:
            raise InputError(f"{file.name} could not be downloaded ({reason}); {file.remedy}")
        content.seek(0)
        yield content


def has_digest(path: Path, digest: str, *, unpacked: bool = False) -> bool:
    """Whether the file exists and has the checksum."""
    try:
        with path.open("rb") as stream:
            return _digest(stream, digest, unpacked) == digest
    except DAMAGED:
        return False


def _fetch(url: str, file: Published, content: BinaryIO, progress: Progress | None) -> None:
    from urllib.request import urlopen  # slow to import, and rarely needed

    arrived = 0
    with urlopen(url, timeout=TIMEOUT) as response:
        while piece := response.read(PIECE):
            content.write(piece)
            arrived += len(piece)
            if progress:
                progress(file.name, arrived)
            if arrived > file.most_bytes:
                raise OSError(f"the answer is larger than {file.most_bytes:,} bytes")


def _digest(stream: BinaryIO, like: str, unpacked: bool) -> str:
    """Checksum of the content, of the same kind as `like`."""
    source: Any = gzip.GzipFile(fileobj=stream) if unpacked else stream
    return hashlib.file_digest(source, "md5" if len(like) == 32 else "sha256").hexdigest()


def extract(archive: BinaryIO, targets: Mapping[str, Path], source: str) -> None:
    """Write the members of a verified .tar.gz that `targets` names to their paths, and ignore the others.

    `source` names the archive in error messages.
    """
    missing = dict(targets)
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as members:
            for member in members:
                content = members.extractfile(member) if member.isreg() and member.name in missing else None
                if content is not None:
                    with content, atomic_file(missing.pop(member.name)) as temporary:
                        temporary.write_bytes(content.read())
    except (tarfile.TarError, *DAMAGED) as error:
        raise InputError(f"{source} cannot be unpacked ({error}); download it again.") from None
    if missing:
        raise InputError(f"{source} lacks {', '.join(missing)}; download it again.")
