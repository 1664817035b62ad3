"""Steps are taken one by one where they cannot be recorded, each exactly once."""

import pytest
import torch

from noiselimit.engine.cuda_graph import EAGER_STEPS, GraphedStep
from noiselimit.errors import Notice

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU the recording works")


def test_without_recording_every_step_is_taken() -> None:
    taken: list[int] = []
    steps = GraphedStep(taken.append, record=False)
    for size in (4, 4, 4, 2):
        steps(size)
    assert taken == [4, 4, 4, 2]
    assert steps.seconds == 0


@NO_GPU
def test_a_recording_that_fails_is_said_once_and_no_step_is_lost() -> None:
    taken: list[int] = []
    steps = GraphedStep(taken.append, record=True)
    sizes = [4] * (EAGER_STEPS + 5) + [2, 2]
    with pytest.warns(Notice, match="could not be recorded") as said:
        assert [steps(size) for size in sizes] == [None] * len(sizes)
    assert taken == sizes
    assert len(said) == 1
    assert steps.seconds > 0


@NO_GPU
def test_out_of_memory_at_the_first_recording_is_for_others_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fewer rows at once may do; once one size is recorded, the others can go without."""

    def full() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("torch.cuda.CUDAGraph", full)
    taken: list[int] = []
    steps = GraphedStep(taken.append, record=True)
    for _ in range(EAGER_STEPS):
        steps(4)
    with pytest.raises(torch.OutOfMemoryError):
        steps(4)
    assert taken == [4] * EAGER_STEPS
    steps._graphs[8] = object()  # type: ignore[assignment]
    with pytest.warns(Notice, match="CUDA out of memory"):
        steps(4)
    assert taken == [4] * (EAGER_STEPS + 1)
