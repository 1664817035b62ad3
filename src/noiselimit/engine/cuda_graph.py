"""A step that is repeated: on a GPU its launches are recorded once and replayed, no Python in between."""

import time
import warnings
from collections import Counter
from collections.abc import Callable

import torch

from noiselimit.engine.backend import first_line
from noiselimit.errors import Notice

EAGER_STEPS = 2
"""Steps taken one launch at a time before the first recording: libraries set themselves up in them, and
convolutions try which of their algorithms is fastest. They are steps like any other."""


class GraphedStep:
    """Calls `step(size)`; from the third step on by replaying a recording, if that is wanted and works.

    A recording holds addresses, so a step must find its inputs and leave its results in tensors that stay.
    """

    def __init__(self, step: Callable[[int], None], *, record: bool, must_fit: bool = True) -> None:
        """`must_fit`: a first recording that finds no memory is an error, not a reason to do without."""
        self._step = step
        self._record = record
        self._must_fit = must_fit
        self._taken = 0
        self._seen: Counter[int] = Counter()
        self._recordings: dict[int, torch.cuda.CUDAGraph] = {}
        self.seconds = 0.0
        """How long recording has taken so far."""

    def __call__(self, size: int) -> None:
        """Take one step with this many examples."""
        if size not in self._recordings and self._record and self._taken >= EAGER_STEPS and self._seen[size]:
            self._make_recording(size)
        if size in self._recordings:
            self._recordings[size].replay()
        else:
            self._step(size)
        self._taken += 1
        self._seen[size] += 1

    def forget(self) -> None:
        """Give the recordings' memory back."""
        self._recordings.clear()

    def _make_recording(self, size: int) -> None:
        started = time.perf_counter()
        try:
            recording = torch.cuda.CUDAGraph()
            pool = next(iter(self._recordings.values())).pool() if self._recordings else None
            # On the stream of the steps before: autograd remembers where a weight was first used.
            stream = torch.cuda.current_stream()
            with torch.cuda.graph(recording, pool=pool, stream=stream, capture_error_mode="thread_local"):
                self._step(size)
            self._recordings[size] = recording
        except Exception as error:  # anything a library may say; the plain way is always open
            if isinstance(error, torch.OutOfMemoryError) and not self._recordings and self._must_fit:
                raise
            self._record = False
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            warnings.warn(
                f"a training step could not be recorded ({first_line(error)}), so its kernels are launched "
                "one by one: slower, same results; --graphs off hides this line.",
                Notice,
                stacklevel=2,
            )
        self.seconds += time.perf_counter() - started
