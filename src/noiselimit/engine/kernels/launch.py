"""Launching kernels, or compiling many of them in parallel before they are needed."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any


class _Compilation:
    """Compiles what is launched, each variant of a kernel in its own thread.

    Launches that differ only in run-time numbers are compiled in turn, so that the second finds the first's
    code.
    """

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)
        self._latest: dict[object, Future[None]] = {}
        self._lock = Lock()

    def add(
        self, kernel: Any, grid: Sequence[int], arguments: Sequence[Any], options: dict[str, Any]
    ) -> None:
        variant = (kernel.fn.__qualname__, *sorted(options.items()))

        def work(before: "Future[None] | None") -> None:
            if before is not None:
                before.result()
            kernel.warmup(*arguments, grid=tuple(grid), **options)

        with self._lock:  # autograd launches from another thread
            self._latest[variant] = self._pool.submit(work, self._latest.get(variant))

    def finish(self) -> None:
        try:
            for latest in self._latest.values():
                latest.result()
        finally:
            self._pool.shutdown()


_compilation: _Compilation | None = None


def launch(kernel: Any, grid: Sequence[int], *arguments: Any, **options: Any) -> None:
    """`kernel[grid](*arguments, **options)`."""
    if _compilation is None:
        kernel[tuple(grid)](*arguments, **options)
    else:
        _compilation.add(kernel, grid, arguments, options)


@contextmanager
def only_compiling(workers: int) -> Iterator[None]:
    """Inside, `launch` compiles kernels and does not run them. All are ready on exit."""
    global _compilation
    _compilation = compilation = _Compilation(workers)
    try:
        yield
    finally:
        _compilation = None
        compilation.finish()
