"""Taking the states of a block's rows, and putting them into a block that shall go on from there."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from noiselimit.cohort.batches import batch_bounds
from noiselimit.cohort.row_state import RowState
from noiselimit.cohort.stopping import BestEpoch
from noiselimit.errors import InputError
from noiselimit.methods import get_method

if TYPE_CHECKING:
    from noiselimit.cohort.block import Block


def take_states(block: "Block", epoch: int) -> dict[int, RowState]:
    """The states, at the end of this epoch, of the rows that still train, by the numbers the block was given.

    Stacks of all rows are brought to the CPU as a whole: a device waits for few large copies, not for many
    small ones. Where they are there already nothing is copied, so they hold until the next step.
    """
    stacks = [
        {name: tensor.cpu() for name, tensor in stack.held().items()} for stack in block.networks.stacks
    ]
    states = {}
    for i in range(len(block.specs)):
        if i in block.idle:
            continue
        tensors = {
            f"{network}.{name}": stacked[own]
            for network, stack, own in block.networks.places(i)
            for name, stacked in stacks[stack].items()
        }
        tensors |= {name: tensor.cpu() for name, tensor in _of_row_alone(block, i, epoch)}
        capacity, estimate = block.memorised.held(i)
        states[block.rows[i]] = RowState(
            epoch=epoch,
            step=block.taken,
            history=tuple(block.histories[i]),
            capacity=capacity,
            estimate=estimate,
            channels_last=any(stack.packing.channels_last for stack in block.networks.stacks),
            tensors=tensors,
        )
    return states


def bytes_of_states(block: "Block", epoch: int) -> int:
    """How much memory `take_states` needs."""
    stacked = [tensor for stack in block.networks.stacks for tensor in stack.held().values()]
    alone = [tensor for i in range(len(block.specs)) for _, tensor in _of_row_alone(block, i, epoch)]
    return sum(tensor.numel() * tensor.element_size() for tensor in (*stacked, *alone))


def _of_row_alone(block: "Block", row: int, epoch: int) -> Iterator[tuple[str, Tensor]]:
    """What is not stacked in the networks, where it lies."""
    if block.watch is not None:
        for name, tensor in block.watch.held(row, block.specs[row], epoch).items():
            yield f"watched.{name}", tensor
    transition = block.transitions[row]
    if transition is not None:
        yield "transition", transition


def empty_transitions(block: "Block") -> list[Tensor | None]:
    """Room for the matrices of rows whose method corrects by one, which `restore` fills in."""
    return [
        None
        if get_method(spec.method).transition is None
        else torch.empty(block.classes, block.classes, device=block.device)
        for spec in block.specs
    ]


@torch.no_grad()
def restore(block: "Block", states: Sequence[RowState]) -> None:
    """Fill in the states, all of one epoch, in the order of the block's rows. No tensor is replaced."""
    epoch = states[0].epoch
    steps = epoch * len(batch_bounds(len(block.data.train), block.specs[0].batch_size))
    for i, state in enumerate(states):
        if (state.epoch, state.step) != (epoch, steps):
            raise _does_not_fit(block, i)
        for network, stack, own in block.networks.places(i):
            rows = block.networks.stacks[stack]
            for name, stacked in rows.held().items():
                saved = _saved(block, i, state, f"{network}.{name}", stacked[own])
                if rows.is_packed(name):
                    saved = rows.packing.reordered(saved, state.channels_last)
                stacked[own].copy_(saved)
        for name, tensor in _of_row_alone(block, i, epoch):
            tensor.copy_(_saved(block, i, state, name, tensor))
        block.histories[i] = list(state.history)
        block.bests[i] = BestEpoch.of(state.history)
        block.memorised.restore(i, state.capacity, state.estimate)
    block.closed, block.taken = epoch, steps


def _saved(block: "Block", row: int, state: RowState, name: str, like: Tensor) -> Tensor:
    """The tensor of that name, if it can be put where `like` is."""
    saved = state.tensors.get(name)
    if saved is None or saved.shape != like.shape or saved.dtype != like.dtype:
        raise _does_not_fit(block, row)
    return saved


def _does_not_fit(block: "Block", row: int) -> InputError:
    """Mostly code of the user's, which a hash covers by its name alone."""
    return InputError(
        f"the checkpoint of run {block.specs[row].folder_name} does not fit the networks that its spec names "
        "now: delete the folder .checkpoints beside the runs, or name another with --out."
    )
