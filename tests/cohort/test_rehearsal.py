"""A block can be rehearsed, so that what it needs can be measured; with all its methods and parts."""

import pytest

from noiselimit.cohort.block import Block
from noiselimit.data.examples import DataSet
from noiselimit.grids import grid
from noiselimit.training import train


class _EnoughError(Exception):
    pass


@pytest.mark.parametrize("methods", [["ce"], ["limit-l", "limit-g", "ce"]])
def test_a_step_and_an_evaluation_are_rehearsed_on_the_largest_part(
    blobs: DataSet, methods: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []

    def rehearse(block: Block, *_: object) -> None:
        spoken = block.networks.probabilities
        monkeypatch.setattr(
            block.networks,
            "probabilities",
            lambda inputs, rows, best: [scored.append(inputs.shape[1]), spoken(inputs, rows, best=best)][1],
        )
        block.rehearse_step()
        block.rehearse_evaluation()
        raise _EnoughError

    monkeypatch.setattr(Block, "train", rehearse)
    with pytest.raises(_EnoughError):
        train(grid(method=methods, seed=[0, 1], epochs=1, batch_size=16), blobs, threads=1)
    assert scored == [97]  # of 151 examples those to train on; 24 validate, 30 test
