"""Rows that are done leave a recorded step when that saves more time than recording it anew takes."""

from types import SimpleNamespace

import pytest

from noiselimit.engine.block import Block
from noiselimit.runs.spec import RunSpec


@pytest.mark.parametrize(
    ("idle", "epoch", "recording", "pays"),
    [
        ({0}, 10, 0.0, True),  # on a CPU nothing is recorded
        ({0}, 10, 9.9, True),  # one of four rows for 20 more epochs of 2 s: 10 s
        ({0}, 10, 10.1, False),
        ({0, 1}, 10, 10.1, True),
        ({0}, 29, 0.6, False),  # one epoch more: 0.5 s
    ],
)
def test_what_is_saved_is_the_share_of_idle_rows_in_the_epochs_ahead(
    idle: set[int], epoch: int, recording: float, pays: bool
) -> None:
    block = SimpleNamespace(
        specs=[RunSpec(epochs=epochs) for epochs in (5, 5, 20, 30)],
        finished=idle,
        step=SimpleNamespace(seconds=recording),
    )
    assert Block._removal_pays(block, epoch, seconds=2.0) == pays  # type: ignore[arg-type]
