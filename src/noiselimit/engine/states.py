"""Taking the states of a block's rows for checkpoints, and restoring them in a new block."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from noiselimit.engine.epoch import batch_bounds
from noiselimit.engine.results import BestEpoch, RowState
from noiselimit.errors import InputError

if TYPE_CHECKING:
    from noiselimit.engine.block import Block


def take_states(block: "Block", epoch: int) -> dict[int, RowState]:
    """The states of the unfinished rows at the end of this epoch.

    On a GPU, stacked tensors are copied as a whole, because few large copies are fast. On a CPU nothing is
    copied, so the states are valid until the next step.
    """
    stacks = [
        {name: tensor.cpu() for name, tensor in stack.state().items()} for stack in block.networks.stacks
    ]
    states = {}
    for i in range(len(block.specs)):
        if i in block.finished:
            continue
        tensors = {
            f"{network}.{name}": stacked[own]
            for network, stack, own in block.networks.places(i)
            for name, stacked in stacks[stack].items()
        }
        tensors |= {name: tensor.cpu() for name, tensor in _unstacked(block, i, epoch)}
        states[block.rows[i]] = RowState(
            epoch=epoch,
            step=block.steps_done,
            history=tuple(block.histories[i]),
            channels_last=any(stack.packing.channels_last for stack in block.networks.stacks),
            tensors=tensors,
        )
    return states


def state_bytes(block: "Block", epoch: int) -> int:
    """The size of what `take_states` returns."""
    stacked = [tensor for stack in block.networks.stacks for tensor in stack.state().values()]
    others = [tensor for i in range(len(block.specs)) for _, tensor in _unstacked(block, i, epoch)]
    return sum(tensor.numel() * tensor.element_size() for tensor in (*stacked, *others))


def _unstacked(block: "Block", row: int, epoch: int) -> Iterator[tuple[str, Tensor]]:
    """The row's live tensors outside of the networks."""
    if block.callback is not None:
        for name, tensor in block.callback.state(row, block.specs[row], epoch).items():
            yield f"watched.{name}", tensor  # a name in the file format
    transition = block.transitions[row]
    if transition is not None:
        yield "transition", transition


@torch.no_grad()
def restore_states(block: "Block", states: Sequence[RowState]) -> None:
    """Copy states, all of one epoch, into the tensors of a new block."""
    epoch = states[0].epoch
    steps = epoch * len(batch_bounds(len(block.data.train), block.specs[0].batch_size))
    for i, state in enumerate(states):
        if (state.epoch, state.step) != (epoch, steps):
            raise _does_not_fit(block, i)
        for network, stack, own in block.networks.places(i):
            rows = block.networks.stacks[stack]
            for name, stacked in rows.state().items():
                saved = _saved(block, i, state, f"{network}.{name}", stacked[own])
                stacked[own].copy_(rows.from_saved(name, saved, state.channels_last))
        for name, tensor in _unstacked(block, i, epoch):
            tensor.copy_(_saved(block, i, state, name, tensor))
        block.histories[i] = list(state.history)
        block.bests[i] = BestEpoch.of(state.history)
    block.epochs_done, block.steps_done = epoch, steps


def _saved(block: "Block", row: int, state: RowState, name: str, like: Tensor) -> Tensor:
    saved = state.tensors.get(name)
    if saved is None or saved.shape != like.shape or saved.dtype != like.dtype:
        raise _does_not_fit(block, row)
    return saved


def _does_not_fit(block: "Block", row: int) -> InputError:
    """Mostly because the user changed the code of a network, of which the hash covers only the name."""
    return InputError(
        f"the checkpoint of run {block.specs[row].folder_name} does not fit the networks of its spec: delete "
        "the folder .checkpoints beside the runs, or choose another with --out."
    )
