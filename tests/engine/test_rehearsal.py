"""A block can be rehearsed, so that what it needs can be measured; with all its methods and parts."""

from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

from noiselimit.data.examples import DataSet
from noiselimit.engine.block import Block
from noiselimit.runs.spec import grid
from noiselimit.training import train


class _EnoughError(Exception):
    pass


@pytest.mark.parametrize("methods", [["ce"], ["limit-l", "limit-g", "ce"]])
def test_first_and_last_steps_and_an_evaluation_of_the_largest_part_are_rehearsed(
    blobs: DataSet, methods: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[int] = []
    scored: list[int] = []

    def rehearse(block: Block, *_: object) -> None:
        learn, score = block.networks.train, block.networks.probabilities

        def learns(inputs: Tensor) -> Any:
            learned.append(inputs.shape[1])
            return learn(inputs)

        def scores(inputs: Tensor, rows: Sequence[int], *, best: bool) -> Any:
            scored.append(inputs.shape[1])
            return score(inputs, rows, best=best)

        monkeypatch.setattr(block.networks, "train", learns)
        monkeypatch.setattr(block.networks, "probabilities", scores)
        block.rehearse_step()
        block.rehearse_step(last=True)
        block.rehearse_evaluation()
        raise _EnoughError

    monkeypatch.setattr(Block, "train", rehearse)
    with pytest.raises(_EnoughError):
        train(grid(method=methods, seed=[0, 1], epochs=1, batch_size=16), blobs, threads=1)
    assert learned == [16, 17]  # a last batch of one joins the one before it
    assert scored == [97]  # of 151 examples those to train on; 24 validate, 30 test


@pytest.mark.parametrize(("dropout", "asked"), [(0.0, [24]), (0.3, [24, 40, 40])])
def test_two_pieces_of_the_training_part_are_asked_where_an_epoch_asks_all(
    blobs: DataSet, dropout: float, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []

    def rehearse(block: Block, *_: object) -> None:
        say = block.networks.classifier_logits

        def says(inputs: Tensor) -> Tensor:
            heard.append(inputs.shape[1])
            return say(inputs)

        monkeypatch.setattr(block.networks, "classifier_logits", says)
        block.rehearse_evaluation()
        raise _EnoughError

    monkeypatch.setattr("noiselimit.engine.block_data.EVALUATION_BATCH", 40)
    monkeypatch.setattr(Block, "train", rehearse)
    with pytest.raises(_EnoughError):
        train(grid(method=["ce", "limit-l"], epochs=1, dropout=dropout), blobs, device="cpu", threads=1)
    assert heard == asked
