"""What the machine offers."""

import os

MOST_THREADS = 1024
"""More is a slip of the finger."""


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def lacks_memory(error: BaseException) -> bool:
    """Whether memory ran out: a device's, or the machine's, of which torch tells in words alone."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = ("DefaultCPUAllocator: ", "std::bad_alloc", "could not create a primitive")  # the last: oneDNN
    return isinstance(error, RuntimeError) and any(each in str(error) for each in words)
