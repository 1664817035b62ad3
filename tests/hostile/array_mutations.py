"""Containers whose inside is changed while the outside stays whole: NumPy's, zip, gzip and safetensors."""

import gzip
import io
import json
import struct
import zipfile
from random import Random

from byte_mutations import damaged
from text_mutations import change_value

ODD_SHAPES = (
    "()", "(0,)", "(1,)", "(2**40,)", "(1099511627776,)", "(9223372036854775807,)", "(-1,)", "(60,)", "[60]",
    "(60, 1099511627776)", "(4294967296, 4294967296)", "(0, 9223372036854775807)", "(True,)", "(1.5,)", "60",
    "('a',)", "(None,)", "(3, 4)", "(60,)*9", "(1,)" + " " * 20_000,
)  # fmt: skip
ODD_TYPES = (
    "'|O'", "'<f8'", "'<i8'", "'>u2'", "'|b1'", "'<U99999999'", "'|S2147483647'", "'<c16'", "'<M8[s]'",
    "[('a', '<i4')]", "[('a', '|O')]", "'<U0'", "'<f2'", "'x'", "''", "None", "'<i8,' * 5", "'<f16'",
    "'<U1'", "'|V8'",
)  # fmt: skip


def change_npy(content: bytes, random: Random) -> bytes:
    """The header's shape, type or order replaced by something odd, its length put right."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12 or random.random() < 0.3:
        return damaged(content, (), random)
    length = struct.unpack("<H", content[8:10])[0]
    header, values = content[10 : 10 + length].decode("latin-1"), content[10 + length :]
    shape, descr = (
        header[header.find("(") : header.rfind(")") + 1],
        header.split("'descr': ")[1].split(", 'fo")[0],
    )
    match random.randrange(5):
        case 0 | 1:
            header = header.replace(shape, random.choice(ODD_SHAPES))
        case 2:
            header = header.replace(descr, random.choice(ODD_TYPES))
        case 3:
            header = header.replace("False", random.choice(("True", "None", "2", "__import__('os')")))
        case _:
            header = random.choice(("{}", "[" * 5000, "1" * 9000, header * 3, "{'shape': (1,)}", "\0"))
    version = random.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\t\0"))
    written = header.encode("latin-1")
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(written) % 65536)
    if random.random() < 0.05:
        size = b"\xff" * len(size)
    return content[:6] + version + size + written + values


def change_zip(content: bytes, random: Random) -> bytes:
    """One member changed and all written anew; or a size in the list of members made false."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {info.filename: old.read(info) for info in old.infolist()}
    name = random.choice(list(members))
    match random.randrange(8):
        case 0:
            return _false_sizes(content, random)
        case 1:
            members[random.choice(("x.npy", "/abs.npy", "../up.npy", "labels_.npy", "a" * 300, "y.npy"))] = (
                members.pop(name)
            )
        case 2:
            members[name + random.choice(("", ".npy", "\0", "é"))] = members[name][: random.randrange(200)]
        case 3:
            del members[name]
        case _:
            inner = change_npy if name.endswith(".npy") else lambda c, r: damaged(c, (), r)
            members[name] = inner(members[name], random)
    return _zipped(members, random)


def _zipped(members: dict[str, bytes], random: Random) -> bytes:
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as new:
        for name, member in members.items():
            new.writestr(name, member)
    return buffer.getvalue()


def _false_sizes(content: bytes, random: Random) -> bytes:
    """Method, CRC or sizes of a member, in the central directory (PK 1 2) or before the member (PK 3 4)."""
    mark, first = random.choice(((b"PK\1\2", 8), (b"PK\3\4", 6)))
    places = [place for place in range(len(content) - 46) if content.startswith(mark, place)]
    place = random.choice(places) + first + random.choice((0, 2, 8, 12, 16, 18, 20))
    value = random.choice((0, 1, 8, 99, 2**16 - 1, 2**31, 2**32 - 2, 2**32 - 1)) & 0xFFFFFFFF
    return content[:place] + struct.pack("<I", value) + content[place + 4 :]


def change_gzip(content: bytes, random: Random) -> bytes:
    """What is inside changed and compressed anew, or followed by another member or by garbage."""
    inner = gzip.decompress(content)
    kind = random.randrange(6)
    if kind == 0:
        return content + random.choice(
            (content, b"garbage", b"\0" * 8, gzip.compress(b"\0" * 10**6, mtime=0))
        )
    if kind == 1:
        return gzip.compress(inner + b"\0" * random.choice((1, 1000, 10**7)), mtime=0)
    return gzip.compress(damaged(inner, (), random), random.choice((1, 9)), mtime=0)


def change_safetensors(content: bytes, random: Random) -> bytes:
    """The header, which is JSON, changed with its length put right."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    changed = change_value(header, random)
    if isinstance(changed, dict) and changed and random.random() < 0.5:
        entry = changed[random.choice(list(changed))]
        if isinstance(entry, dict) and "dtype" in entry:
            entry["dtype"] = random.choice(
                ("F32", "F64", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "F4", "C64", "U64", "F16")
            )
    text = json.dumps(changed).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + content[8 + length :]
