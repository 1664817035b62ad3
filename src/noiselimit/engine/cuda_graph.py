"""A training step that is recorded as a CUDA graph and replayed, so that Python launches no kernels."""

import time
import warnings
from collections import Counter
from collections.abc import Callable

import torch

from noiselimit.engine.backend import first_line
from noiselimit.errors import Notice

EAGER_STEPS = 2
"""Steps before the first recording. Libraries initialise in them, and cuDNN chooses its algorithms."""


class GraphedStep:
    """Calls `step(size)`; from the third step on by replaying a CUDA graph, if `record` is set and it works.

    A graph holds addresses, so the step must read and write tensors that stay.
    """

    def __init__(self, step: Callable[[int], None], *, record: bool, must_fit: bool = True) -> None:
        """`must_fit`: raise if the first recording runs out of memory, instead of going on without."""
        self._step = step
        self._record = record
        self._must_fit = must_fit
        self._taken = 0
        self._seen: Counter[int] = Counter()
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.seconds = 0.0  # spent on recording

    def __call__(self, size: int) -> None:
        """Take one step with `size` examples."""
        if size not in self._graphs and self._record and self._taken >= EAGER_STEPS and self._seen[size]:
            self._record_graph(size)
        if size in self._graphs:
            self._graphs[size].replay()
        else:
            self._step(size)
        self._taken += 1
        self._seen[size] += 1

    def reset(self) -> None:
        """Delete the graphs, which frees their memory."""
        self._graphs.clear()

    def _record_graph(self, size: int) -> None:
        started = time.perf_counter()
        try:
            graph = torch.cuda.CUDAGraph()
            pool = next(iter(self._graphs.values())).pool() if self._graphs else None
            # On the stream of the earlier steps: autograd remembers the stream of a weight's first use.
            stream = torch.cuda.current_stream()
            with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                self._step(size)
            self._graphs[size] = graph
        except Exception as error:
            if isinstance(error, torch.OutOfMemoryError) and not self._graphs and self._must_fit:
                raise
            self._record = False
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            warnings.warn(
                f"a training step could not be recorded ({first_line(error)}), so its kernels are launched "
                "one by one: slower, same results; --graphs off hides this message.",
                Notice,
                stacklevel=2,
            )
        self.seconds += time.perf_counter() - started
