"""A block: K rows that train together on one device, epoch by epoch."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from noiselimit.engine.backend import PRECISIONS, Backend
from noiselimit.engine.block_data import BlockData, InputBatch
from noiselimit.engine.block_networks import build_networks
from noiselimit.engine.callbacks import MakeCallback
from noiselimit.engine.cuda_graph import GraphedStep
from noiselimit.engine.epoch import Epoch, batch_bounds, compute_losses, learning_rate, method_rows
from noiselimit.engine.evaluation import accuracy_and_loss, recount_hits, score_examples
from noiselimit.engine.metrics import EpochTotals, memorisation
from noiselimit.engine.network_stack import State
from noiselimit.engine.results import BestEpoch, OnEpoch, Record, RowState, RunResult, SaveStates, Stopped
from noiselimit.engine.states import restore_states, state_bytes, take_states
from noiselimit.methods import get_method
from noiselimit.runs.spec import RunSpec

SCORED_AT_ONCE = 2**27
"""Probabilities of rows that finish together: half a gigabyte for each network."""
SHORT_EPOCH = 1.0
"""Seconds. Training that is stopped finishes an epoch as short as this, to save its end."""


class Block:
    """K rows on one device. Rows with a predictor come first; rows of one method are consecutive."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        data: BlockData,
        device: torch.device,
        input_shape: tuple[int, ...],
        class_names: tuple[str, ...],
        parents: Sequence[State | None],
        noise_entropies: Sequence[float | None],
        backend: Backend,
        *,
        callback: MakeCallback | None = None,
        resumed: Sequence[RowState] = (),
    ) -> None:
        """Build the networks.

        Parameters
        ----------
        parents
            For each spec, the classifier of the run it starts from, or None.
        noise_entropies
            H(y|x) of each spec's training labels in bits, or None if unknown.
        resumed
            States of all specs at the end of one epoch, to resume from.
        """
        order = sorted(
            range(len(specs)),
            key=lambda i: (not get_method(specs[i].method).needs_predictor, specs[i].method),
        )
        self.rows = order  # numbers of the rows among the given specs
        self.specs = [specs[i] for i in order]
        precision = PRECISIONS[self.specs[0].precision]
        self.data = replace(data.of_rows(order), kernels=backend.kernels, dtype=precision)
        self.device = device
        self.backend = backend
        self.classes = classes = len(class_names)
        self.histories: list[list[Record]] = [[] for _ in order]
        self.bests = [BestEpoch() for _ in order]
        self.noise_entropies = [noise_entropies[i] for i in order]
        self.stop: Callable[[], bool] = lambda: False
        self.epochs_done = self.steps_done = 0
        self.finished: set[int] = set()
        """Finished rows that still take part, because removing them would take longer."""
        ordered_parents = [parents[i] for i in order]
        self.networks = build_networks(self.specs, ordered_parents, input_shape, classes, device, backend)
        predictors = self.networks.predictors
        self.callback = callback and callback(self.specs, self.data, predictors, classes, device)
        self.transitions = self._transitions(class_names, estimate=not resumed)
        if resumed:
            restore_states(self, [resumed[i] for i in order])
        self._prepare_steps(first=True)

    def _transitions(self, class_names: tuple[str, ...], *, estimate: bool) -> list[Tensor | None]:
        """The transition matrix of each row whose method uses one: given, estimated, or to be restored."""
        found: list[Tensor | None] = [None] * len(self.specs)
        for i, spec in enumerate(self.specs):
            estimator = get_method(spec.method).transition
            if estimator is None:
                continue
            if not estimate:
                matrix = torch.empty(self.classes, self.classes)
            elif spec.transition is not None:
                matrix = torch.from_numpy(spec.transition.transition(class_names))
            else:
                data = self.data.of_rows([i])
                matrix = estimator(
                    score_examples(self.networks, data, data.train, [i], best=False)[0].classifier
                )
            found[i] = matrix.to(self.device, torch.float32)
        return found

    def _prepare_steps(self, *, first: bool) -> None:
        """Allocate what depends on the number of rows."""
        self.groups = method_rows(self.specs, self.transitions, self.device)
        self.epoch = Epoch.empty(self.specs, self.data.train, self.device, self.steps_done)
        self.rates = self.networks.rates(self.epoch.rates)
        in_memory = isinstance(self.data.train.inputs, Tensor)
        # If memory is short, the first recording must fail, so that fewer rows train at once.
        self.step = GraphedStep(self._step, record=self.backend.graphs and in_memory, must_fit=first)

    def train(
        self, on_epoch: OnEpoch, stop: Callable[[], bool], save: SaveStates | None = None
    ) -> Iterator[RunResult]:
        """Train until all rows are finished, and yield their results after their last epochs.

        If `stop` returns True, this returns or raises `Stopped`. `save` is called after each epoch, when all
        results were yielded, so that every row is either in a result or in a checkpoint.
        """
        epoch, seconds = self.epochs_done, math.inf
        while len(self.finished) < len(self.specs) and not stop():
            self.stop = stop if seconds > SHORT_EPOCH else lambda: False
            epoch, started = epoch + 1, time.perf_counter()
            if not self._train_epoch(epoch):
                return
            failures = self._evaluate_epoch(epoch, on_epoch)
            seconds = time.perf_counter() - started
            ending = [
                i
                for i, spec in enumerate(self.specs)
                if i not in self.finished
                and (failures[i] or epoch >= spec.epochs or self.bests[i].exhausted(epoch, spec.patience))
            ]
            if ending:
                yield from self._results(ending, failures)
                self.finished |= set(ending)
            if self.finished and self._removal_pays(epoch, seconds):
                self._select([i for i in range(len(self.specs)) if i not in self.finished])
            if save is not None and len(self.finished) < len(self.specs):
                save(partial(take_states, self, epoch), partial(state_bytes, self, epoch), stop())

    def _train_epoch(self, epoch: int) -> bool:
        """One pass over the training examples, in each row's own order; False if it was stopped.

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
                self.step(end - start)
        else:
            for batch in self.data.streamed(self.data.train, self.epoch.order, bounds, self.epoch.views):
                if self.stop():
                    return False
                self._learn(batch)
        return True

    def _step(self, size: int) -> None:
        """Learn from the next examples of the epoch's order."""
        positions, views = self.epoch.next_positions(size)
        self._learn(self.data.batch(self.data.train, positions, views))

    def _learn(self, batch: InputBatch) -> None:
        step = self.epoch.rates.step
        logits, features, predicted = self.networks.train(batch.inputs)
        losses = compute_losses(self.groups, batch, logits, features, predicted, step)
        self.networks.update(losses, self.rates)
        self.epoch.totals.add(
            losses, logits, predicted, batch.labels, batch.wrong, step, kernels=self.backend.kernels
        )
        if self.callback is not None:
            self.callback.on_train_batch(batch.positions, logits, predicted)
        step.add_(1)

    def _evaluate_epoch(self, epoch: int, on_epoch: OnEpoch) -> list[str | None]:
        """Evaluate, extend the histories and save the best weights; returns why each row failed, or None."""
        totals = self._totals()
        show = self.callback is not None and self.callback.needs_validation(epoch, self.specs)
        validated, tested = self._validate(show=show), None
        if self.data.test:
            tested, _ = accuracy_and_loss(self.networks, self.data, self.data.test, self._check_stop)
        validation_accuracy, validation_loss = (values.tolist() for values in validated)
        test_accuracy = [None] * len(self.specs) if tested is None else tested.tolist()
        finite, first_bad = self.networks.finite().tolist(), totals.first_bad.tolist()
        loss, correct = totals.loss.tolist(), totals.correct.tolist()
        examples = len(self.data.train)
        memorised = memorisation(
            totals, self.specs, self.noise_entropies, self.histories, self.classes, examples
        )
        self.steps_done = int(self.epoch.rates.step)
        failures: list[str | None] = [None] * len(self.specs)
        for i, spec in enumerate(self.specs):
            if i in self.finished:
                continue
            if first_bad[i] >= 0 or not finite[i] or not math.isfinite(validation_loss[i]):
                failures[i] = _failure(first_bad[i], self.steps_done, epoch)
                continue
            record: Record = {
                "epoch": epoch,
                "step": self.steps_done,
                "learning_rate": learning_rate(spec, epoch),
                "train_loss": loss[i] / examples,
                "train_accuracy": correct[i] / examples,
                "validation_loss": validation_loss[i],
                "validation_accuracy": validation_accuracy[i],
                "test_accuracy": test_accuracy[i],
                **memorised[i],
            }
            self.histories[i].append(record)
            self.bests[i] = self.bests[i].after(epoch, validation_accuracy[i], validation_loss[i])
            on_epoch(self.rows[i], record)
        improved = [i for i, best in enumerate(self.bests) if best.epoch == epoch]
        if improved:
            self.networks.save_best(improved)
        return failures

    def _totals(self, most: int | None = None) -> EpochTotals:
        """The epoch's totals. With dropout, hits are counted again, in at most `most` batches."""
        if not self.networks.uses_dropout:
            return self.epoch.totals
        return recount_hits(self.epoch.totals, self.networks, self.data, self._check_stop, most)

    def _validate(self, *, show: bool) -> tuple[Tensor, Tensor]:
        """Accuracy and loss on the selection part; `show`: the callback gets the validation part."""
        data = self.data
        if show and not data.selects_by_validation:
            show = False
            if len(data.validation):
                accuracy_and_loss(self.networks, data, data.validation, self._show)
        return accuracy_and_loss(
            self.networks, data, data.selection, self._show if show else self._check_stop
        )

    def _check_stop(self, batch: InputBatch, logits: Tensor) -> None:
        if self.stop():
            raise Stopped

    def _show(self, batch: InputBatch, logits: Tensor) -> None:
        assert self.callback is not None
        self._check_stop(batch, logits)
        predicted = self.networks.predictor_logits(batch.inputs)
        self.callback.on_validation_batch(batch.positions, logits, predicted)

    def _results(self, ending: Sequence[int], failures: Sequence[str | None]) -> Iterator[RunResult]:
        """Score all examples with the best and the last weights of these rows, some rows at a time."""
        values = (len(self.data.train) + len(self.data.validation)) * self.classes
        together = max(1, SCORED_AT_ONCE // max(values, 1))
        for start in range(0, len(ending), together):
            yield from self._results_together(ending[start : start + together], failures)

    def _results_together(self, rows: Sequence[int], failures: Sequence[str | None]) -> Iterator[RunResult]:
        data = self.data.of_rows(rows)
        parts = {"train": data.train, "validation": data.validation, "test": data.test}
        best = {
            name: score_examples(self.networks, data, part, rows, best=True)
            for name, part in parts.items()
            if part
        }
        last = score_examples(self.networks, data, data.train, rows, best=False)
        for k, i in enumerate(rows):
            classifier, predictor = self.networks.best_states(i)
            observed = self.callback.result(i, last[k]) if self.callback and not failures[i] else None
            yield RunResult(
                row=self.rows[i],
                history=tuple(self.histories[i]),
                best_epoch=self.bests[i].epoch,
                failure=failures[i],
                classifier=classifier,
                predictor=predictor,
                best={name: scores[k] for name, scores in best.items()},
                last=last[k],
                callback_result=observed,
                transition=self.transitions[i],
            )

    def _removal_pays(self, epoch: int, seconds: float) -> bool:
        """Whether removing finished rows saves more time than recording the step again takes."""
        ahead = max(
            (spec.epochs - epoch for i, spec in enumerate(self.specs) if i not in self.finished), default=0
        )
        return seconds * ahead * len(self.finished) / len(self.specs) >= self.step.seconds

    def _select(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.rows = [self.rows[i] for i in rows]
        self.specs = [self.specs[i] for i in rows]
        self.histories = [self.histories[i] for i in rows]
        self.bests = [self.bests[i] for i in rows]
        self.transitions = [self.transitions[i] for i in rows]
        self.noise_entropies = [self.noise_entropies[i] for i in rows]
        self.finished = set()
        if rows:
            self.step.reset()
            self.data = self.data.of_rows(rows)
            self.networks.select(rows)
            if self.callback is not None:
                self.callback = self.callback.select(rows)
            self._prepare_steps(first=False)

    def compile_kernels(self, workers: int) -> None:
        """Compile all kernels without launching them. The block cannot train after that."""
        from noiselimit.engine.kernels.launch import only_compiling

        with only_compiling(workers):
            self.rehearse_step()
            self.rehearse_evaluation()

    def rehearse_step(self, *, last: bool = False) -> None:
        """Take the first or last step of an epoch to measure memory. The block cannot train after that."""
        self.epoch.begin(1, self.specs, self.data.train)
        start, end = batch_bounds(len(self.data.train), self.specs[0].batch_size)[-1 if last else 0]
        self._step(end - start)

    def rehearse_evaluation(self) -> None:
        """Do each kind of evaluation once to measure memory. The block cannot train after that."""
        self._validate(show=self.callback is not None)
        self._totals(most=2)  # one batch is in memory while the next is made
        rows = range(len(self.specs))
        data = self.data.of_rows(rows)
        largest = max((part for part in (data.train, data.validation, data.test) if part), key=len)
        self.networks.save_best(rows)
        self.networks.probabilities(next(data.batches(largest)).inputs, rows, best=True)


def _failure(bad_step: int, steps: int, epoch: int) -> str:
    what = "the loss" if bad_step >= 0 else "a weight or the validation loss"
    where = f"step {bad_step if bad_step >= 0 else steps - 1} (epoch {epoch})"
    return f"{what} was not a finite number at {where}: lower the learning rate"
