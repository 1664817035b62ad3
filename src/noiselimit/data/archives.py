"""Taking files out of an archive by their names, which keeps the rest of it from being anywhere."""

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from noiselimit.data.download import DAMAGED
from noiselimit.errors import InputError
from noiselimit.files import atomic_file


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
