"""The cores and the memory of this machine."""

import os
from contextlib import suppress
from pathlib import Path

MOST_THREADS = 1024
"""More is a typing error."""


def available_cores() -> int:
    """Number of cores that this process may use: its share, if torchrun started several on this machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))


def available_memory() -> int | None:
    """Bytes that are free on this machine, or in this process's control group; None if that is not known."""
    found = []
    with suppress(OSError, LookupError, ValueError):
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    with suppress(OSError, ValueError):  # "max" if there is no limit
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{name}").read_text()) for name in ("max", "current"))
        found.append(limit - used)
    return min(found, default=None)


def lacks_memory(error: BaseException) -> bool:
    """Whether a device or the machine ran out of memory, which torch reports in several ways."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    texts = ("DefaultCPUAllocator: ", "std::bad_alloc", "could not create a primitive")  # the last: oneDNN
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)
