"""Which changes go with which format: pictures, pickles and Parquet here, the others in the files beside."""

import io
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pyarrow.parquet
from array_mutations import change_gzip, change_npy, change_safetensors, change_zip
from byte_mutations import damaged
from text_mutations import change_json, change_lines, change_tokens, change_value

OPCODES = (
    b"cos\nsystem\n", b"cbuiltins\neval\n", b"\x8c\x02os\x8c\x06system\x93", b"(S'id'\ntR", b"R", b"b", b"}",
    b"]", b"(", b"t", b"a", b"e", b"u", b"s", b"0", b"2", b"q\0", b"h\0", b"h\xff", b"r\xff\xff\xff\x7f",
    b"B\xff\xff\xff\x7f", b"\x8e" + b"\xff" * 8, b"X\xff\xff\xff\xff", b"\x8b\xff\xff\xff\x7f", b"\x81",
    b"\x92", b"i__main__\nx\n", b"P1\n", b"\x82\1", b"\x95" + b"\xff" * 8, b"I1" + b"0" * 5000 + b"\n", b".",
    b"\x80\x05", b"N", b"K\0", b"\x85" * 3000,
)  # fmt: skip


def change_pickle(content: bytes, random: Random) -> bytes:
    """Instructions put in, among them such as would call a program."""
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.choice((2, len(content) - 1, random.randrange(len(content))))
        content = content[:place] + random.choice(OPCODES) * random.choice((1, 1, 1, 50)) + content[place:]
    return content


def change_png(content: bytes, random: Random) -> bytes:
    """A chunk changed, doubled or left out, its length and checksum put right, so that decoders go on."""
    chunks, place = [], 8
    while place < len(content):
        length = struct.unpack(">I", content[place : place + 4])[0]
        chunks.append((content[place + 4 : place + 8], content[place + 8 : place + 8 + length]))
        place += 12 + length
    row = random.randrange(len(chunks))
    kind, data = chunks[row]
    match random.randrange(5):
        case 0:
            del chunks[row]
        case 1:
            chunks.insert(
                row,
                (random.choice((kind, b"tRNS", b"PLTE", b"zTXt", b"iCCP", b"acTL", b"fdAT", b"eXIf")), data),
            )
        case 2:
            sides = [random.choice((0, 1, 16, 9000, 10_000, 65_535, 2**31 - 1)) for _ in range(2)]
            tail = bytes(random.choice((0, 1, 2, 3, 4, 6, 8, 16)) for _ in range(2)) + data[10:13]
            chunks[0] = (b"IHDR", struct.pack(">II", *sides) + random.choice((chunks[0][1][8:], tail)))
        case _:
            chunks[row] = (kind, damaged(data, (), random))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return content[:8] + b"".join(parts)


ODD_COLUMNS: Sequence[Callable[[int], Any]] = (
    lambda n: pyarrow.array([[1, 2]] * n),
    lambda n: pyarrow.array([{"a": 1}] * n),
    lambda n: pyarrow.array([b"\xff\xfe"] * n),
    lambda n: pyarrow.array([None] * n, pyarrow.null()),
    lambda n: pyarrow.array([Decimal("1.10")] * n),
    lambda n: pyarrow.array([10**18] * n, pyarrow.timestamp("ns")),
    lambda n: pyarrow.array([86_399] * n, pyarrow.time32("s")),
    lambda n: pyarrow.array([2**64 - 1] * n, pyarrow.uint64()),
    lambda n: pyarrow.array([float("nan")] * n),
    lambda n: pyarrow.array([-(2**63)] * n),
    lambda n: pyarrow.array(["<script>"] * n).dictionary_encode(),
    lambda n: pyarrow.array(["x" * 100_000] * n),
    lambda n: pyarrow.array([True, None] * n)[:n],
    lambda n: pyarrow.array([1.5] * n, pyarrow.float16()),
    lambda n: pyarrow.array([1] * n, pyarrow.duration("s")),
    lambda n: pyarrow.array([0] * n),
)


def change_parquet(content: bytes, random: Random) -> bytes:
    """A column replaced by one of another type, or pandas' notes in the footer changed; else any damage."""
    kind = random.randrange(4)
    if kind < 2:
        near_end = len(content) - min(len(content), 1200)  # the footer, where sizes and counts are declared
        return content[:near_end] + damaged(content[near_end:], (), random)
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    place = random.randrange(table.num_columns)
    name = random.choice(
        (table.column_names[place], table.column_names[place], "", "x", table.column_names[0])
    )
    if kind == 2:
        table = table.set_column(place, name, random.choice(ODD_COLUMNS)(table.num_rows))
    else:
        notes = json.loads((table.schema.metadata or {}).get(b"pandas", b'{"index_columns": []}'))
        changed = change_value(notes, random)
        table = table.replace_schema_metadata(
            {"pandas": json.dumps(changed).encode("utf-8", "surrogatepass")}
        )
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer, store_schema=random.random() < 0.8)
    return buffer.getvalue()


BY_ENDING: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": change_json, ".jsonl": change_lines, ".toml": change_tokens, ".csv": change_tokens,
    ".tsv": change_tokens, ".txt": change_tokens, ".npy": change_npy, ".npz": change_zip, ".pt": change_zip,
    ".gz": change_gzip, ".safetensors": change_safetensors, ".png": change_png, ".parquet": change_parquet,
    "": change_pickle,
}  # fmt: skip


def mutated(path: Path, content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """Half of the cases are any damage, half know the format where there is one to know."""
    change = BY_ENDING.get(path.suffix)
    if change is None or path.name.endswith("-ubyte") or random.random() < 0.5:
        return damaged(content, others, random)
    return change(content, random)
