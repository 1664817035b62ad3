"""A block: K rows that train together on one device, epoch by epoch."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from noiselimit.data.examples import DataSet
from noiselimit.engine.backend import Backend, GraphedStep
from noiselimit.engine.block_data import DeviceInputs, InputBatch, block_data
from noiselimit.engine.block_networks import build_networks
from noiselimit.engine.callbacks import MakeCallback
from noiselimit.engine.epoch import Epoch, batch_bounds, compute_losses, learning_rate, method_rows
from noiselimit.engine.metrics import (
    accuracy_and_loss,
    memorisation,
    recount_hits,
    score_examples,
)
from noiselimit.engine.optimisers import Rates
from noiselimit.engine.results import (
    OnEpoch,
    Record,
    Row,
    RowState,
    RunResult,
    SaveStates,
    States,
    Stopped,
)
from noiselimit.errors import InputError
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec

SCORED_AT_ONCE = 2**27
"""Probabilities of rows that finish together: half a gigabyte for each network."""
SCORED_OF_FILE = 10**6
"""Examples of each part that are scored at most if vectors are read from a file: others need no memory."""
SHORT_EPOCH = 1.0
"""Seconds. Training that is stopped finishes an epoch as short as this, to save its end."""


class Block:
    """K rows on one device. Rows with a predictor come first; rows of one method are consecutive."""

    def __init__(
        self,
        rows: Sequence[Row],
        data: DataSet,
        inputs: DeviceInputs,
        backend: Backend,
        *,
        cohort: int,
        callback: MakeCallback | None = None,
        resumed: Mapping[int, RowState] | None = None,
    ) -> None:
        """Build the networks of new rows, which are some of a cohort of `cohort` rows.

        `resumed`: the states of all rows at the end of one epoch by number, to resume from.
        """
        self.rows = sorted(
            rows, key=lambda row: (not get_method(row.spec.method).needs_predictor, row.spec.method)
        )
        self.backend = backend
        self.device = device = backend.device
        self.classes = classes = data.examples.classes
        self.stop: Callable[[], bool] = lambda: False
        self.epochs_done = self.steps_done = 0
        self.data = block_data(self.rows, data, inputs, backend, cohort)
        self.networks = build_networks(self.rows, data.examples.input_shape, classes, backend)
        predictors = self.networks.predictors
        self.callback = callback and callback(self.specs, self.data, predictors, classes, device)
        for i, row in enumerate(self.rows):
            if get_method(row.spec.method).transition is not None:
                matrix = torch.empty(classes, classes) if resumed else self._transition(i, data)
                row.transition = matrix.to(device, torch.float32)
        if resumed:
            self._restore([resumed[row.number] for row in self.rows])
        self._prepare_steps(first=True)

    @property
    def specs(self) -> list[RunSpec]:
        """The specs of the rows."""
        return [row.spec for row in self.rows]

    def _transition(self, i: int, data: DataSet) -> Tensor:
        """The transition matrix of a row whose method uses one: given or estimated."""
        spec = self.rows[i].spec
        if spec.transition is not None:
            return torch.from_numpy(spec.transition.transition(data.examples.class_names))
        estimate = get_method(spec.method).transition
        assert estimate is not None
        own = self.data.of_rows([i])
        return estimate(score_examples(self.networks, own, own.train, [i], best=False)[0].classifier)

    def _prepare_steps(self, *, first: bool) -> None:
        """Allocate what depends on the number of rows."""
        self.groups = method_rows(self.rows, self.device)
        self.epoch = Epoch(self.specs, self.data.train, self.device, self.steps_done)
        self.rates = [Rates.zeros(len(stack), self.epoch.step) for stack in self.networks.stacks]
        in_memory = isinstance(self.data.train.inputs, Tensor)
        # If memory is short, the first recording must fail, so that fewer rows train at once.
        self.step = GraphedStep(self._step, record=self.backend.graphs and in_memory, must_fit=first)

    def train(
        self, on_epoch: OnEpoch, stop: Callable[[], bool], save: SaveStates | None = None
    ) -> Iterator[RunResult]:
        """Train until all rows are finished, and yield their results after their last epochs.

        If `stop` returns True, this raises `Stopped`. `save` is called after each epoch, when all results
        were yielded, so that every row is either in a result or in a checkpoint.
        """
        seconds = math.inf
        while left := self._unfinished():
            if stop():
                raise Stopped
            in_steps = seconds > SHORT_EPOCH and self.backend.processes.count == 1
            self.stop = stop if in_steps else lambda: False
            epoch, started = self.epochs_done + 1, time.perf_counter()
            self._train_epoch(epoch)
            self._evaluate_epoch(epoch, on_epoch)
            self.epochs_done, seconds = epoch, time.perf_counter() - started
            yield from self._results([i for i in left if self.rows[i].ends_after(epoch)])
            left = self._unfinished()
            if 0 < len(left) < len(self.rows) and self._removal_pays(seconds):
                self._select(left)
            if left and save is not None:
                save(self._states, self._state_bytes, stop())

    def _unfinished(self) -> list[int]:
        return [i for i, row in enumerate(self.rows) if not row.finished]

    def _train_epoch(self, epoch: int) -> None:
        """One pass over the training examples, in each row's own order. No step waits for the device."""
        self.epoch.begin(epoch)
        if self.callback is not None:
            self.callback.on_epoch_start(epoch, self.specs)
        rates = [(learning_rate(spec, epoch), spec.weight_decay, spec.momentum) for spec in self.specs]
        for own, rows in zip(self.rates, self.networks.rows(), strict=True):
            own.fill([rates[row] for row in rows])
        bounds = batch_bounds(len(self.data.train), self.specs[0].batch_size)
        if isinstance(self.data.train.inputs, Tensor):
            for start, end in bounds:
                self._check_stop()
                self.step(end - start)
        else:
            for batch in self.data.streamed(self.data.train, self.epoch.order, bounds, self.epoch.views):
                self._check_stop()
                self._learn(batch)
        self.backend.processes.average([each for s in self.networks.stacks for each in s.buffers.values()])

    def _step(self, size: int) -> None:
        """Learn from the next examples of the epoch's order."""
        positions, views = self.epoch.next_positions(size)
        self._learn(self.data.batch(self.data.train, positions, views))

    def _learn(self, batch: InputBatch) -> None:
        step = self.epoch.step
        processes, size = self.backend.processes, len(batch)
        with processes.training(size, self.specs[0].batch_norm):
            outputs = self.networks.train(batch.inputs)
        logits, features, predicted = processes.join(size, outputs)
        losses = compute_losses(self.groups, batch, logits, features, predicted, step, self.data.task)
        self.networks.update(losses, self.rates, partial(processes.add_gradients, size))
        self.epoch.totals.add(
            losses,
            logits,
            predicted,
            batch.labels,
            batch.wrong,
            step,
            kernels=self.backend.kernels,
            task=self.data.task,
        )
        if self.callback is not None:
            self.callback.on_train_batch(batch.positions, logits, predicted)
        step.add_(1)

    def _evaluate_epoch(self, epoch: int, on_epoch: OnEpoch) -> None:
        """Evaluate, extend the histories and save the best weights."""
        totals = self.epoch.totals
        if self.networks.stacks[0].uses_dropout:
            totals = recount_hits(totals, self.networks, self.data, self._check_stop)
        show = self.callback is not None and self.callback.needs_validation(epoch, self.specs)
        validated, tested = self._validate(show=show), None
        if self.data.test:
            tested, _ = accuracy_and_loss(self.networks, self.data, self.data.test, self._check_stop)
        validation_accuracy, validation_loss = (values.tolist() for values in validated)
        test_accuracy = [None] * len(self.rows) if tested is None else tested.tolist()
        finite, first_bad = self.networks.finite().tolist(), totals.first_bad.tolist()
        loss, correct = totals.loss.tolist(), totals.correct.tolist()
        examples = len(self.data.train)
        memorised = memorisation(totals, self.rows, self.data.task, self.classes, examples)
        self.steps_done = int(self.epoch.step)
        for i in self._unfinished():
            row = self.rows[i]
            if first_bad[i] >= 0 or not finite[i] or not math.isfinite(validation_loss[i]):
                row.failure = _failure(first_bad[i], self.steps_done, epoch)
                continue
            record: Record = {
                "epoch": epoch,
                "step": self.steps_done,
                "learning_rate": learning_rate(row.spec, epoch),
                "train_loss": loss[i] / examples,
                "train_accuracy": correct[i] / examples,
                "validation_loss": validation_loss[i],
                "validation_accuracy": validation_accuracy[i],
                "test_accuracy": test_accuracy[i],
                **memorised[i],
            }
            row.add(record)
            on_epoch(row.number, record)
        improved = [i for i, row in enumerate(self.rows) if row.best_epoch == epoch]
        if improved:
            self.networks.save_best(improved)

    def _validate(self, *, show: bool) -> tuple[Tensor, Tensor]:
        """Accuracy and loss on the selection part; `show`: the callback gets the validation part."""
        data, on_batch = self.data, self._show if show else self._check_stop
        if data.selection.inputs is not data.validation.inputs:  # other examples select the epoch
            if show and len(data.validation):
                accuracy_and_loss(self.networks, data, data.validation, self._show)
            on_batch = self._check_stop
        return accuracy_and_loss(self.networks, data, data.selection, on_batch)

    def _check_stop(self, *_: object) -> None:
        if self.stop():
            raise Stopped

    def _show(self, batch: InputBatch, logits: Tensor) -> None:
        assert self.callback is not None
        self._check_stop()
        own = (self.networks.predictor_logits(batch.inputs),)
        (predicted,) = self.backend.processes.join(len(batch), own)
        self.callback.on_validation_batch(batch.positions, logits, predicted)

    def _results(self, ending: Sequence[int]) -> Iterator[RunResult]:
        """Score all examples with the best and the last weights of these rows, some rows at a time."""
        values = (len(self.data.train) + len(self.data.validation)) * self.classes
        together = max(1, SCORED_AT_ONCE // max(values, 1))
        for start in range(0, len(ending), together):
            yield from self._results_together(ending[start : start + together])

    def _results_together(self, rows: Sequence[int]) -> Iterator[RunResult]:
        data = self.data.of_rows(rows)
        parts = {"train": data.train, "validation": data.validation, "test": data.test}
        if self.data.train.in_file:  # the parts are in random order
            parts = {name: part and part.first(SCORED_OF_FILE) for name, part in parts.items()}
        best = {
            name: score_examples(self.networks, data, part, rows, best=True)
            for name, part in parts.items()
            if part
        }
        assert parts["train"] is not None
        last = score_examples(self.networks, data, parts["train"], rows, best=False)
        for k, i in enumerate(rows):
            row = self.rows[i]
            row.finished = True
            classifier, predictor = self.networks.best_states(i)
            observed = self.callback.result(i, last[k]) if self.callback and not row.failure else None
            yield RunResult(
                row=row.number,
                history=tuple(row.history),
                best_epoch=row.best_epoch,
                failure=row.failure,
                classifier=classifier,
                predictor=predictor,
                best={name: scores[k] for name, scores in best.items()},
                last=last[k],
                callback_result=observed,
                transition=row.transition,
            )

    def _removal_pays(self, seconds: float) -> bool:
        """Whether removing finished rows saves more time than recording the step again takes."""
        ahead = [row.spec.epochs - self.epochs_done for row in self.rows if not row.finished]
        finished = len(self.rows) - len(ahead)
        return seconds * max(ahead) * finished / len(self.rows) >= self.step.seconds

    def _select(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.step.reset()
        self.rows = [self.rows[i] for i in rows]
        self.data = self.data.of_rows(rows)
        self.networks.select(rows)
        if self.callback is not None:
            self.callback = self.callback.select(rows)
        self._prepare_steps(first=False)

    def _states(self) -> States:
        """The states of the unfinished rows at the end of an epoch.

        On a GPU, stacked tensors are copied as a whole, because few large copies are fast. On a CPU nothing
        is copied, so the states are valid until the next step.
        """
        stacks = [
            {name: tensor.cpu() for name, tensor in stack.state().items()} for stack in self.networks.stacks
        ]
        states = []
        for i in self._unfinished():
            row = self.rows[i]
            tensors = {
                f"{network}.{name}": stacked[own]
                for network, stack, own in self.networks.places(i)
                for name, stacked in stacks[stack].items()
            }
            tensors |= {name: tensor.cpu() for name, tensor in self._unstacked(i)}
            state = RowState(
                epoch=self.epochs_done,
                step=self.steps_done,
                history=tuple(row.history),
                channels_last=any(stack.packing.channels_last for stack in self.networks.stacks),
                tensors=tensors,
            )
            states.append((row.spec, state))
        return states

    def _state_bytes(self) -> int:
        """The size of what `_states` returns."""
        stacked = [tensor for stack in self.networks.stacks for tensor in stack.state().values()]
        others = [tensor for i in range(len(self.rows)) for _, tensor in self._unstacked(i)]
        return sum(tensor.numel() * tensor.element_size() for tensor in (*stacked, *others))

    def _unstacked(self, i: int) -> Iterator[tuple[str, Tensor]]:
        """The live tensors of a row outside of the networks."""
        row = self.rows[i]
        if self.callback is not None:
            for name, tensor in self.callback.state(i, row.spec, self.epochs_done).items():
                yield f"watched.{name}", tensor  # a name in the file format
        if row.transition is not None:
            yield "transition", row.transition

    @torch.no_grad()
    def _restore(self, states: Sequence[RowState]) -> None:
        """Copy the states of all rows, at the end of one epoch, into the tensors of this new block."""
        self.epochs_done = epoch = states[0].epoch
        self.steps_done = epoch * len(batch_bounds(len(self.data.train), self.specs[0].batch_size))
        for i, (row, state) in enumerate(zip(self.rows, states, strict=True)):
            if (state.epoch, state.step) != (epoch, self.steps_done):
                raise _does_not_fit(row.spec)
            for network, stack, own in self.networks.places(i):
                networks = self.networks.stacks[stack]
                for name, stacked in networks.state().items():
                    saved = _saved(row.spec, state, f"{network}.{name}", stacked[own])
                    stacked[own].copy_(networks.from_saved(name, saved, state.channels_last))
            for name, tensor in self._unstacked(i):
                tensor.copy_(_saved(row.spec, state, name, tensor))
            for record in state.history:
                row.add(record)

    def compile_kernels(self, workers: int) -> None:
        """Compile the kernels of a step and of evaluations, without launching them; then drop the block."""
        from noiselimit.engine.kernels.launch import only_compiling

        rows, data = range(len(self.rows)), self.data
        with only_compiling(workers):
            self.epoch.begin(1)
            self._step(batch_bounds(len(data.train), self.specs[0].batch_size)[0][1])
            self._validate(show=self.callback is not None)
            self.networks.outputs(next(data.batches(data.train)).inputs, rows, best=True)


def _failure(bad_step: int, steps: int, epoch: int) -> str:
    what = "the loss" if bad_step >= 0 else "a weight or the validation loss"
    where = f"step {bad_step if bad_step >= 0 else steps - 1} (epoch {epoch})"
    return f"{what} was not a finite number at {where}: lower the learning rate"


def _saved(spec: RunSpec, state: RowState, name: str, like: Tensor) -> Tensor:
    saved = state.tensors.get(name)
    if saved is None or saved.shape != like.shape or saved.dtype != like.dtype:
        raise _does_not_fit(spec)
    return saved


def _does_not_fit(spec: RunSpec) -> InputError:
    """Mostly because the user changed the code of a network, of which the hash covers only the name."""
    return InputError(
        f"the checkpoint of run {spec.folder_name} does not fit the networks of its spec: delete the folder "
        ".checkpoints beside the runs, or choose another with --out."
    )
