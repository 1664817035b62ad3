"""A safetensors file that is written piece by piece, under a name that tells whether it is whole.

The name ends in the checksum of all bytes. They go to a temporary name first, are forced to disk, and then
get their name, which is forced to disk as well. Nothing as large as the content is made beside it.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import safetensors
import torch
from torch import Tensor

from noiselimit.files import sync_folder
from noiselimit.opening import name_for_libraries, open_regular

NAME = re.compile(r"epoch-[0-9]{5,}-[0-9a-f]{32}\.safetensors")
TEMPORARY_NAME = re.compile(r"\.[0-9a-f]{16}\.tmp")
"""What files are called that are written here, by the stem epoch-N, and meanwhile."""
READ_AT_ONCE = 2**20  # bytes

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""As safetensors spells them. A buffer of another type has no place in a checkpoint."""


def write_tensors(
    folder: Path, stem: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> Path:
    """Write folder/stem-CHECKSUM.safetensors, and return it. What the disk refuses is an OSError."""
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    digest = _digest()
    try:
        with temporary.open("xb") as stream:
            for piece in _pieces(tensors, metadata):
                digest.update(piece)
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        path = folder / f"{stem}-{digest.hexdigest()}.safetensors"
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_folder(folder)
    return path


def is_whole(path: Path) -> bool:
    """Whether the file holds the bytes that its name tells of; an OSError where that cannot be told.

    One that is longer or shorter than its header says is not read: a file with holes has no end in sight.
    """
    digest = _digest()
    with open_regular(path) as stream:
        try:
            with name_for_libraries(path) as known, safetensors.safe_open(known, "pt"):
                pass  # it has compared the sizes
        except safetensors.SafetensorError:
            return False
        while piece := stream.read(READ_AT_ONCE):
            digest.update(piece)
    return path.stem.endswith(f"-{digest.hexdigest()}")


def _digest() -> "hashlib.blake2b":
    return hashlib.blake2b(digest_size=16)


def _pieces(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The bytes of a safetensors file: length of the header, header, tensors, the widest types first."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name in order:
        tensor = tensors[name]
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in order:
        flat = tensors[name].contiguous().reshape(-1)
        if flat.numel():
            yield memoryview(flat.view(torch.uint8).numpy().data)
