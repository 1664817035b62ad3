"""Backends; steps that cannot be recorded are launched one by one, each exactly once."""

import pytest
import torch

from noiselimit.engine.backend import EAGER_STEPS, Backend, GraphedStep, find_backend, find_device
from noiselimit.errors import InputError, Notice

CPU = torch.device("cpu")
NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


@NO_GPU
def test_without_a_gpu() -> None:
    assert find_device("auto") == CPU
    assert find_backend("auto", "auto", CPU) == Backend()
    for name in ("cuda", "cuda:1", "cudaa"):
        with pytest.raises(InputError, match="device"):
            find_device(name)
    for settings in (("on", "auto"), ("auto", "on"), ("of", "auto")):
        with pytest.raises(InputError, match=r"kernels|graphs"):
            find_backend(*settings, CPU)


@NO_GPU
@pytest.mark.parametrize("record", [False, True])
def test_no_step_is_lost_if_recording_is_off_or_fails(record: bool, recwarn: pytest.WarningsRecorder) -> None:
    taken: list[int] = []
    step = GraphedStep(taken.append, record=record)
    sizes = [4] * (EAGER_STEPS + 5) + [2, 2]
    for size in sizes:
        step(size)
    assert taken == sizes
    assert len(recwarn) == record
    assert (step.seconds > 0) == record


@NO_GPU
def test_out_of_memory_at_the_first_recording_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows may fit. Once one size is recorded, other sizes can do without."""

    def full() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("torch.cuda.CUDAGraph", full)
    taken: list[int] = []
    step = GraphedStep(taken.append, record=True)
    for _ in range(EAGER_STEPS):
        step(4)
    with pytest.raises(torch.OutOfMemoryError):
        step(4)
    step._graphs[8] = object()
    with pytest.warns(Notice, match="CUDA out of memory"):
        step(4)
    assert taken == [4] * (EAGER_STEPS + 1)
