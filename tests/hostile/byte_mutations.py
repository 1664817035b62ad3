"""Damage to any file: what storage, transfers and people with a hex editor do."""

import struct
from collections.abc import Callable, Sequence
from random import Random

EXTREMES = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
"""What counts and sizes are set to: the ends of the ranges of integers."""


def _span(content: bytes, random: Random, longest: int = 64) -> tuple[int, int]:
    start = random.randrange(len(content))
    return start, min(len(content), start + 1 + random.randrange(longest))


def flip_bits(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 8, 64))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content))]


def drop_span(content: bytes, random: Random) -> bytes:
    start, stop = _span(content, random)
    return content[:start] + content[stop:]


def repeat_span(content: bytes, random: Random) -> bytes:
    start, stop = _span(content, random)
    return content[:stop] + content[start:stop] * random.choice((1, 1, 3, 1000)) + content[stop:]


def swap_spans(content: bytes, random: Random) -> bytes:
    (a, b), (c, d) = sorted((_span(content, random), _span(content, random)))
    b, d = min(b, c), max(d, c)
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def insert_noise(content: bytes, random: Random) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + random.randbytes(random.choice((1, 2, 4, 16, 300))) + content[place:]


def extreme_field(content: bytes, random: Random) -> bytes:
    """An integer of 1 to 8 bytes set to an extreme value, most often near the file's start or end."""
    width = random.choice((1, 2, 4, 8))
    near = min(len(content), 96)
    place = random.choice(
        (random.randrange(near), len(content) - 1 - random.randrange(near), random.randrange(len(content)))
    )
    value = random.choice(EXTREMES) % (1 << 8 * width)
    field = value.to_bytes(width, random.choice(("little", "big")))
    return (content[:place] + field + content[place + width :])[: max(len(content), 1)]


def splice(content: bytes, other: bytes, random: Random) -> bytes:
    """The start of one file and the end of another."""
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def nothing_left(content: bytes, random: Random) -> bytes:
    return random.choice((b"", b"\0", b"\0" * 64, b"\xff" * 64, struct.pack("<Q", 2**63), b"\xef\xbb\xbf"))


ANY: Sequence[Callable[[bytes, Random], bytes]] = (
    flip_bits,
    flip_bits,
    flip_bits,
    truncate,
    drop_span,
    repeat_span,
    swap_spans,
    insert_noise,
    extreme_field,
    extreme_field,
    extreme_field,
    nothing_left,
)


def damaged(content: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """The content after one mutation, now and then a few; `others` are files to splice it with."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        if not content:
            return content
        if others and random.random() < 0.08:
            content = splice(content, random.choice(others), random)
        else:
            content = random.choice(ANY)(content, random)
    return content
