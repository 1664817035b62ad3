"""Launching kernels, or compiling many of them in parallel before they are needed."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any

Submit = Callable[[Any, Sequence[int], Sequence[Any], dict[str, Any]], None]

_submit: Submit | None = None


def launch(kernel: Any, grid: Sequence[int], *arguments: Any, **options: Any) -> None:
    """`kernel[grid](*arguments, **options)`."""
    if _submit is None:
        kernel[tuple(grid)](*arguments, **options)
    else:
        _submit(kernel, grid, arguments, options)


@contextmanager
def only_compiling(workers: int) -> Iterator[None]:
    """Inside, `launch` compiles each variant of a kernel in its own thread. All are ready on exit.

    Launches that differ only in run-time numbers are compiled in turn, so that the second finds the first's
    code.
    """
    global _submit
    latest: dict[object, Future[None]] = {}
    lock = Lock()  # autograd launches from another thread
    pool = ThreadPoolExecutor(workers)

    def submit(kernel: Any, grid: Sequence[int], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        def compile_after(before: Future[None] | None) -> None:
            if before is not None:
                before.result()
            kernel.warmup(*arguments, grid=tuple(grid), **options)

        variant = (kernel.fn.__qualname__, *sorted(options.items()))
        with lock:
            latest[variant] = pool.submit(compile_after, latest.get(variant))

    _submit = submit
    try:
        with pool:
            yield
    finally:
        _submit = None
    for compiled in latest.values():
        compiled.result()
