"""CIFAR's binary version: records of one or two label bytes and the 3072 bytes of a picture."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.errors import InputError
from noiselimit.opening import open_regular, read_small_text

PICTURE = (3, 32, 32)  # planes red, green, blue; rows; columns
PICTURE_BYTES = 3 * 32 * 32


def read_binary(path: Path, label_bytes: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    """The pictures [n, 3, 32, 32] and labels [n] in a file; the last label byte is the fine label."""
    try:
        with open_regular(path) as file:
            content = np.fromfile(file, np.uint8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); fetch the file again.") from None
    size = label_bytes + PICTURE_BYTES
    count, rest = divmod(len(content), size)
    if rest or not count:
        raise InputError(
            f"{path}: record {count} has {rest} bytes instead of {size}; the file is cut off or of another "
            "kind, so fetch it again."
        )
    records = content.reshape(count, size)
    return records[:, label_bytes:].reshape(count, *PICTURE), records[:, label_bytes - 1]


def read_names_file(path: Path) -> list[Any]:
    """Class names, one a line."""
    try:
        lines = read_small_text(path).splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{path}: cannot be read ({reason}); fetch the file again or remove it.") from None
    return [line.strip() for line in lines if line.strip()]
