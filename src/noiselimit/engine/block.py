"""Taking the states of a block's rows, and putting them into a block that shall go on from there."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.block_data import BlockData, InputBatch
from noiselimit.engine.cuda_graph import GraphedStep
from noiselimit.engine.epoch import Epoch, batch_bounds, learning_rate, losses, method_rows
from noiselimit.engine.evaluation import MakeCallback, accuracy_and_loss, score_examples
from noiselimit.engine.metrics import EpochTotals, MemorisedRows, hits_of_whole_networks
from noiselimit.engine.pair import build_networks
from noiselimit.engine.results import BestEpoch, Keep, Record, RowState, RunResult, Stopped
from noiselimit.engine.rows import State
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec

PLAIN_BACKEND = Backend()
SCORED = 2**27
"""Probabilities that a network's scores of rows that leave together may be: half a gigabyte of memory."""


class Block:
    """K rows on one device. Rows that need a predictor come first; rows of one method are neighbours."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        data: BlockData,
        device: torch.device,
        input_shape: tuple[int, ...],
        class_names: tuple[str, ...],
        parents: Sequence[State | None],
        noise_entropies: Sequence[float | None],
        backend: Backend = PLAIN_BACKEND,
        *,
        callback: MakeCallback | None = None,
        resumed: Sequence[RowState] = (),
    ) -> None:
        """`parents`: for each spec the classifier of the run it starts from, or None.

        `noise_entropies`: H(y|x) of each spec's training labels in bits, where it is known.
        `callback`: makes who looks on, such as to average probabilities; it changes nothing in training.
        `resumed`: states of all specs at the end of one epoch, to go on from; none: the beginning.
        """
        classes = len(class_names)
        order = sorted(range(len(specs)), key=lambda i: (not _needs_predictor(specs[i]), specs[i].method))
        self.rows = order
        self.specs = [specs[i] for i in order]
        precision = PRECISIONS[self.specs[0].precision]
        self.data = replace(data.keep(order), kernels=backend.kernels, dtype=precision)
        self.device = device
        self.classes = classes
        self.histories: list[list[Record]] = [[] for _ in order]
        self.bests = [BestEpoch() for _ in order]
        self.memorised = MemorisedRows([noise_entropies[i] for i in order], classes)
        self.backend = backend
        self.stop: Callable[[], bool] = lambda: False
        self.closed = self.taken = 0
        """Epochs that are done, and steps taken by the end of the last one."""
        self.idle: set[int] = set()
        """Rows that are done but take part until it pays to leave them out."""
        ordered_parents = [parents[i] for i in order]
        self.networks = build_networks(self.specs, ordered_parents, input_shape, classes, device, backend)
        self.callback = callback and callback(
            self.specs, self.data, self.networks.predictors, classes, device
        )
        if resumed:
            self.transitions = empty_transitions(self)
            restore(self, [resumed[i] for i in order])
        else:
            self.transitions = self._transitions(class_names)
        self._arrange(first=True)

    def _transitions(self, class_names: tuple[str, ...]) -> list[Tensor | None]:
        """The transition matrix of each row whose method corrects by one: given, or estimated now."""
        found: list[Tensor | None] = [None] * len(self.specs)
        for i, spec in enumerate(self.specs):
            estimate = get_method(spec.method).transition
            if estimate is None:
                continue
            if spec.transition is not None:
                matrix = torch.from_numpy(spec.transition.transition(class_names))
            else:
                data = self.data.keep([i])
                matrix = estimate(
                    score_examples(self.networks, data, data.train, [i], best=False)[0].classifier
                )
            found[i] = matrix.to(self.device, torch.float32)
        return found

    def _arrange(self, *, first: bool) -> None:
        """Everything that follows from which rows there are."""
        self.groups = method_rows(self.specs, self.transitions, self.device)
        self.epoch = Epoch.empty(self.specs, self.data.train, self.device, self.taken)
        self.rates = self.networks.rates(self.epoch.rates)
        resident = isinstance(self.data.train.inputs, Tensor)
        # At first fewer rows at once answer a want of memory; later a plainer way does.
        self.steps = GraphedStep(self._step, record=self.backend.graphs and resident, must_fit=first)

    def train(
        self,
        on_epoch: Callable[[int, Record], None],
        stop: Callable[[], bool],
        keep: Keep | None = None,
    ) -> Iterator[RunResult]:
        """Train until no row is left; rows end at the end of an epoch. `on_epoch` gets (row, record).

        `stop` ends it, by no more coming or by `Stopped`.

        `keep` may take the states of rows that go on: after what has ended was yielded, so that no row is
        ever in neither place.
        """
        self.stop = stop
        epoch = self.closed
        while len(self.idle) < len(self.specs):
            epoch, started = epoch + 1, time.perf_counter()
            if not self._train_epoch(epoch):
                return
            failures = self._close_epoch(epoch, on_epoch)
            seconds = time.perf_counter() - started  # what comes below is not repeated with every epoch
            ending = [
                i
                for i, spec in enumerate(self.specs)
                if i not in self.idle
                and (failures[i] or epoch >= spec.epochs or self.bests[i].exhausted(epoch, spec.patience))
            ]
            if ending:
                yield from self._finish(ending, failures)
                self.idle |= set(ending)
            if self.idle and self._leaving_pays(epoch, seconds):
                self._keep([i for i in range(len(self.specs)) if i not in self.idle])
            if keep is not None and len(self.idle) < len(self.specs):
                keep(partial(take_states, self, epoch), partial(bytes_of_states, self, epoch))

    def compile_kernels(self, workers: int) -> None:
        """Rehearse with kernels compiled but not launched; the block cannot train properly after that."""
        from noiselimit.engine.kernels.launch import only_compiling

        with only_compiling(workers):
            self.rehearse_step()
            self.rehearse_evaluation()

    def rehearse_step(self, *, last: bool = False) -> None:
        """Take one step, to see what it needs; the block cannot train properly after that.

        The `last` of an epoch may be smaller, and is not recorded when it first comes.
        """
        self.epoch.begin(1, self.specs, self.data.train)
        start, end = batch_bounds(len(self.data.train), self.specs[0].batch_size)[-1 if last else 0]
        self._step(end - start)

    def rehearse_evaluation(self) -> None:
        """Evaluate once and score a piece of the largest part as at the end, to see what that needs."""
        self._validate(self.data, watched=self.callback is not None)
        self._counted(islice(self.data.whole(self.data.train), 2))  # one is held while the next is made
        everybody = range(len(self.specs))
        data = self.data.keep(everybody)
        largest = max((part for part in (data.train, data.validation, data.test) if part), key=len)
        self.networks.remember(everybody)
        self.networks.probabilities(next(data.whole(largest)).inputs, everybody, best=True)

    def _leaving_pays(self, epoch: int, seconds: float) -> bool:
        """Whether leaving idle rows out saves more time than recording the step anew will take."""
        ahead = max(
            (spec.epochs - epoch for i, spec in enumerate(self.specs) if i not in self.idle), default=0
        )
        return seconds * ahead * len(self.idle) / len(self.specs) >= self.steps.seconds

    def _train_epoch(self, epoch: int) -> bool:
        """One pass over each row's training examples in the row's own order; False if it was stopped.

        No step waits for the device.
        """
        self.epoch.begin(epoch, self.specs, self.data.train)
        if self.callback is not None:
            self.callback.on_epoch_start(epoch, self.specs)
        for own, rates in zip(self.rates, self.networks.rates(self.epoch.rates), strict=True):
            own.copy_(rates)
        bounds = batch_bounds(len(self.data.train), self.specs[0].batch_size)
        if isinstance(self.data.train.inputs, Tensor):
            for start, end in bounds:
                if self.stop():
                    return False
                self.steps(end - start)
        else:
            for batch in self.data.streamed(self.data.train, self.epoch.order, bounds, self.epoch.views):
                if self.stop():
                    return False
                self._learn(batch)
        return True

    def _step(self, size: int) -> None:
        """Learn from the next examples of the epoch's order."""
        places, views = self.epoch.next_places(size)
        self._learn(self.data.select(self.data.train, places, views))

    def _learn(self, batch: InputBatch) -> None:
        step = self.epoch.rates.step
        logits, features, predicted = self.networks.train(batch.inputs)
        own = losses(self.groups, batch, logits, features, predicted, step)
        self.networks.update(own, self.rates)
        self.epoch.totals.add(
            own, logits, predicted, batch.labels, batch.wrong, step, kernels=self.backend.kernels
        )
        if self.callback is not None:
            self.callback.on_train_batch(batch.positions, logits, predicted)
        step.add_(1)

    def _validate(self, data: BlockData, *, watched: bool) -> tuple[Tensor, Tensor]:
        """Accuracy and loss on what chooses the epoch; `watched`: who looks on hears the validation part."""
        if watched and not data.selects_by_validation:
            watched = False
            if len(data.validation):
                accuracy_and_loss(self.networks, data, data.validation, self._show)
        return accuracy_and_loss(self.networks, data, data.selection, self._show if watched else self._pass)

    def _counted(self, batches: Iterable[InputBatch]) -> EpochTotals:
        """The epoch's totals; `batches`, of the training part, are asked for where training drops units."""
        totals = self.epoch.totals
        if not self.networks.drops_units:
            return totals
        return hits_of_whole_networks(totals, self.networks, batches, self._pass)

    def _pass(self, batch: InputBatch, logits: Tensor) -> None:
        """Of a batch that was evaluated: a CPU takes minutes for all of them."""
        if self.stop():
            raise Stopped

    def _show(self, batch: InputBatch, logits: Tensor) -> None:
        assert self.callback is not None
        self._pass(batch, logits)
        self.callback.on_validation_batch(batch.positions, logits, self.networks.predicted(batch.inputs))

    def _close_epoch(self, epoch: int, on_epoch: Callable[[int, Record], None]) -> list[str | None]:
        """Evaluate, write history, remember the best; returns why each row failed, or None."""
        data, totals = self.data, self._counted(self.data.whole(self.data.train))
        watched = self.callback is not None and self.callback.needs_validation(epoch, self.specs)
        validated = self._validate(data, watched=watched)
        tested = accuracy_and_loss(self.networks, data, data.test, self._pass)[0] if data.test else None
        validation_accuracy, validation_loss = (values.tolist() for values in validated)
        test_accuracy = [None] * len(self.specs) if tested is None else tested.tolist()
        finite, first_bad = self.networks.finite().tolist(), totals.first_bad.tolist()
        loss, correct = totals.loss.tolist(), totals.correct.tolist()
        memorised = self.memorised.after(totals, self.specs, len(data.train))
        self.taken = steps = int(self.epoch.rates.step)
        failures: list[str | None] = []
        for i, spec in enumerate(self.specs):
            if i in self.idle:
                failures.append(None)
                continue
            if first_bad[i] >= 0 or not finite[i] or not math.isfinite(validation_loss[i]):
                failures.append(_failure(first_bad[i], steps, epoch))
                continue
            failures.append(None)
            record: Record = {
                "epoch": epoch,
                "step": steps,
                "learning_rate": learning_rate(spec, epoch),
                "train_loss": loss[i] / len(data.train),
                "train_accuracy": correct[i] / len(data.train),
                "validation_loss": validation_loss[i],
                "validation_accuracy": validation_accuracy[i],
                "test_accuracy": test_accuracy[i],
                **memorised[i],
            }
            self.histories[i].append(record)
            self.bests[i] = self.bests[i].after(epoch, validation_accuracy[i], validation_loss[i])
            on_epoch(self.rows[i], record)
        risen = [i for i, best in enumerate(self.bests) if best.epoch == epoch]
        if risen:
            self.networks.remember(risen)
        return failures

    def _finish(self, leaving: Sequence[int], failures: Sequence[str | None]) -> Iterator[RunResult]:
        """Score the examples once more for the rows that leave, with the best and with the last weights."""
        values = (len(self.data.train) + len(self.data.validation)) * self.classes
        together = max(1, SCORED // max(values, 1))
        for start in range(0, len(leaving), together):
            yield from self._finish_together(leaving[start : start + together], failures)

    def _finish_together(self, leaving: Sequence[int], failures: Sequence[str | None]) -> Iterator[RunResult]:
        data = self.data.keep(leaving)
        parts = {"train": data.train, "validation": data.validation, "test": data.test}
        best = {
            name: score_examples(self.networks, data, part, leaving, best=True)
            for name, part in parts.items()
            if part
        }
        last = score_examples(self.networks, data, data.train, leaving, best=False)
        for k, i in enumerate(leaving):
            classifier, predictor = self.networks.best_states(i)
            yield RunResult(
                row=self.rows[i],
                history=tuple(self.histories[i]),
                best_epoch=self.bests[i].epoch,
                failure=failures[i],
                classifier=classifier,
                predictor=predictor,
                best={name: scores[k] for name, scores in best.items()},
                last=last[k],
                callback_result=self.callback.result(i, last[k])
                if self.callback and not failures[i]
                else None,
                transition=self.transitions[i],
            )

    def _keep(self, rows: Sequence[int]) -> None:
        self.rows = [self.rows[i] for i in rows]
        self.specs = [self.specs[i] for i in rows]
        self.histories = [self.histories[i] for i in rows]
        self.bests = [self.bests[i] for i in rows]
        self.transitions = [self.transitions[i] for i in rows]
        self.memorised.keep(rows)
        self.idle = set()
        if rows:
            self.steps.forget()
            self.data = self.data.keep(rows)
            self.networks.keep(rows)
            if self.callback is not None:
                self.callback = self.callback.select(rows)
            self._arrange(first=False)


def _needs_predictor(spec: RunSpec) -> bool:
    return get_method(spec.method).needs_predictor


def _failure(bad_step: int, steps: int, epoch: int) -> str:
    what = "the loss" if bad_step >= 0 else "a weight or the validation loss"
    where = f"step {bad_step if bad_step >= 0 else steps - 1} (epoch {epoch})"
    return f"{what} was not a finite number at {where}: lower the learning rate"


if TYPE_CHECKING:
    pass


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
    if block.callback is not None:
        for name, tensor in block.callback.state(row, block.specs[row], epoch).items():
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
