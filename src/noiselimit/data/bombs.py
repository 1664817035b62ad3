"""Pictures of few bytes that would fill the memory when decoded are refused; large ones take turns."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock

MOST_PIXELS = 80_000_000  # more are refused before they are decoded; Pillow warns soon after
LARGE = 8_000_000  # pixels; of larger pictures one is decoded at a time, since each may take 15 bytes a pixel
_ONE_AT_A_TIME = Lock()


@contextmanager
def room_for(pixels: int) -> Iterator[None]:
    """Decode a picture of so many pixels in here."""
    refuse_bomb(pixels)
    with _ONE_AT_A_TIME if pixels > LARGE else nullcontext():
        yield


def refuse_bomb(pixels: int) -> None:
    """An error for more pixels than a picture may have."""
    if pixels > MOST_PIXELS:
        raise OverflowError(f"it has over {MOST_PIXELS:,} pixels")


def webp_pixels(header: bytes) -> int:
    """How many pixels the first 32 bytes of a WebP file declare; 0 for other files."""
    if header[:4] != b"RIFF" or header[8:12] != b"WEBP":
        return 0
    match header[12:16]:
        case b"VP8 ":
            return (
                int.from_bytes(header[26:28], "little")
                % 2**14
                * (int.from_bytes(header[28:30], "little") % 2**14)
            )
        case b"VP8L":
            bits = int.from_bytes(header[21:25], "little")
            return (1 + bits % 2**14) * (1 + (bits >> 14) % 2**14)
        case b"VP8X":
            return (1 + int.from_bytes(header[24:27], "little")) * (
                1 + int.from_bytes(header[27:30], "little")
            )
    return 0
