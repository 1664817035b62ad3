"""The training of one block of rows: the loop of the paper's Alg. 1 over K runs at once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.augmentation import AUGMENTATIONS, draw_views
from noiselimit.cohort.batches import batch_bounds
from noiselimit.cohort.block_data import BlockData, InputBatch
from noiselimit.cohort.evaluate import accuracy_and_loss, score_examples
from noiselimit.cohort.outcome import Finished, Record
from noiselimit.cohort.pair import NetworkPair
from noiselimit.cohort.rows import NetworkRows, State
from noiselimit.cohort.start import initial_weights
from noiselimit.cohort.stopping import BestEpoch
from noiselimit.cohort.totals import EpochTotals
from noiselimit.draws import DRAWS, stream_keys
from noiselimit.information import gradient_capacity
from noiselimit.meter import estimated_entropy, implied_bits
from noiselimit.methods import Batch, Method, get_method
from noiselimit.networks.initial import Role
from noiselimit.optimisers import OPTIMISERS, Rates
from noiselimit.randomness import Stream
from noiselimit.samplers import SAMPLERS
from noiselimit.schedules import SCHEDULES
from noiselimit.spec import RunSpec, architecture


@dataclass(frozen=True)
class _Group:
    """Neighbouring rows of one method."""

    method: Method
    rows: slice
    hyper: Mapping[str, Tensor]
    sampling_keys: Tensor
    transition: Tensor | None


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
    ) -> None:
        """`parents`: for each spec the classifier of the run it starts from, or None.

        `noise_entropies`: H(y|x) of each spec's training labels in bits, where it is known.
        """
        classes = len(class_names)
        order = sorted(range(len(specs)), key=lambda i: (not _needs_predictor(specs[i]), specs[i].method))
        self.rows = order
        self.specs = [specs[i] for i in order]
        self.data = data.keep(order)
        self.device = device
        self.step = torch.zeros((), dtype=torch.int64, device=device)
        self.histories: list[list[Record]] = [[] for _ in order]
        self.bests = [BestEpoch() for _ in order]
        self.classes = classes
        self.noise_entropies = [noise_entropies[i] for i in order]
        self.capacities = [0.0] * len(order)
        self.estimates = [math.inf] * len(order)

        def network_rows(rows: int, role: Role) -> NetworkRows:
            module = architecture(self.specs[0], role).build(input_shape, classes)
            states = [
                initial_weights(self.specs[i], role, input_shape, classes, parents[order[i]])
                for i in range(rows)
            ]
            return NetworkRows(module, states, OPTIMISERS[self.specs[0].optimiser], device)

        predicting = sum(_needs_predictor(spec) for spec in self.specs)
        self.networks = NetworkPair(
            network_rows(len(order), Role.CLASSIFIER),
            network_rows(predicting, Role.PREDICTOR) if predicting else None,
        )
        self.transitions = self._transitions(class_names)
        self._arrange()

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

    def _arrange(self) -> None:
        """Everything that follows from which rows there are."""
        self.groups = []
        methods = [spec.method for spec in self.specs]
        for name in dict.fromkeys(methods):
            rows = slice(methods.index(name), methods.index(name) + methods.count(name))
            members, method = self.specs[rows], get_method(name)
            hyper = {h: self._vector([s.hyper[h] for s in members], torch.float32) for h in method.hyper}
            keys = stream_keys([spec.seed for spec in members], Stream.SAMPLING, self.device)
            transitions = [matrix for matrix in self.transitions[rows] if matrix is not None]
            transition = torch.stack(transitions) if transitions else None
            self.groups.append(_Group(method, rows, hyper, keys, transition))
        seeds = [spec.seed for spec in self.specs]
        self.order_keys = stream_keys(seeds, Stream.ORDER, self.device)
        self.augmentation_keys = stream_keys(seeds, Stream.AUGMENTATION, self.device)

    def _vector(self, values: Sequence[float], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=self.device)

    def train(self, on_epoch: Callable[[int, Record], None], stop: Callable[[], bool]) -> Iterator[Finished]:
        """Train until no row is left; rows leave at the end of an epoch. `on_epoch` gets (row, record)."""
        epoch = 0
        while self.specs:
            epoch += 1
            totals = self._train_epoch(epoch, stop)
            if totals is None:
                return
            failures = self._close_epoch(epoch, totals, on_epoch)
            leaving = [
                i
                for i, spec in enumerate(self.specs)
                if failures[i] or epoch >= spec.epochs or self.bests[i].exhausted(epoch, spec.patience)
            ]
            if leaving:
                yield from self._finish(leaving, failures)
                self._keep([i for i in range(len(self.specs)) if i not in leaving])

    def _train_epoch(self, epoch: int, stop: Callable[[], bool]) -> EpochTotals | None:
        """One pass over each row's training examples in the row's own order. No step waits for the device."""
        rates = Rates(
            learning_rate=self._vector([_learning_rate(spec, epoch) for spec in self.specs], torch.float64),
            weight_decay=self._vector([spec.weight_decay for spec in self.specs], torch.float64),
            momentum=self._vector([spec.momentum for spec in self.specs], torch.float64),
            step=self.step,
        )
        totals = EpochTotals.zeros(len(self.specs), self.device)
        for batch in self._epoch_batches(torch.tensor(epoch, device=self.device)):
            if stop():
                return None
            losses, logits, predicted = self._losses(batch)
            self.networks.update(losses, rates)
            totals.add(losses, logits, predicted, batch.labels, batch.wrong, self.step)
            self.step += 1
        return totals

    def _epoch_batches(self, epoch: Tensor) -> Iterator[InputBatch]:
        part, first = self.data.train, self.specs[0]
        order = SAMPLERS[first.sampler](self.order_keys, epoch, part.labels)
        augmentation = AUGMENTATIONS[first.augmentation]
        places = torch.arange(len(part), device=self.device).expand_as(order)
        views = draw_views(augmentation, self.augmentation_keys, epoch, places) if augmentation else None
        return self.data.batches(part, order, batch_bounds(len(part), first.batch_size), views)

    def _losses(self, given: InputBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """[K] losses, [K, B, C] classifier logits and [P, B, C] predictor logits of one batch."""
        logits, features, predicted = self.networks.train(given.inputs)
        losses = []
        for group in self.groups:
            rows, method = group.rows, group.method
            draw = DRAWS[method.draws] if method.draws else None
            batch = Batch(
                logits=logits[rows],
                features=features[rows],
                labels=given.labels[rows],
                predictor_logits=None if predicted is None or not method.needs_predictor else predicted[rows],
                draws=draw(group.sampling_keys, self.step, (logits.shape[1], logits.shape[2]))
                if draw
                else None,
                weights=None if given.weights is None else given.weights[rows],
                transition=group.transition,
                step=self.step,
            )
            losses.append(method.loss(batch, group.hyper))
        return torch.cat(losses), logits, predicted

    def _close_epoch(
        self, epoch: int, totals: EpochTotals, on_epoch: Callable[[int, Record], None]
    ) -> list[str | None]:
        """Evaluate, write history, remember the best; returns why each row failed, or None."""
        data = self.data
        validation_accuracy, validation_loss = accuracy_and_loss(self.networks, data, data.selection)
        test_accuracy: Sequence[float | None] = [None] * len(self.specs)
        if data.test:
            test_accuracy, _ = accuracy_and_loss(self.networks, data, data.test)
        finite, first_bad = self.networks.finite().tolist(), totals.first_bad.tolist()
        loss, correct = totals.loss.tolist(), totals.correct.tolist()
        memorised = self._memorised(totals)
        steps = int(self.step)
        failures: list[str | None] = []
        for i, spec in enumerate(self.specs):
            if first_bad[i] >= 0 or not finite[i] or not math.isfinite(validation_loss[i]):
                failures.append(_failure(first_bad[i], steps, epoch))
                continue
            failures.append(None)
            record: Record = {
                "epoch": epoch,
                "step": steps,
                "learning_rate": _learning_rate(spec, epoch),
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
        self.networks.remember([i for i, best in enumerate(self.bests) if best.epoch == epoch])
        return failures

    def _memorised(self, totals: EpochTotals) -> list[Record]:
        """For each row what its training error of the epoch implies; see `noiselimit.meter`."""
        examples, classes = len(self.data.train), self.classes
        correct, wrong, fitted = totals.correct.tolist(), totals.wrong.tolist(), totals.fitted.tolist()
        unsure, square_norm = totals.unsure.tolist(), totals.square_norm.tolist()
        records: list[Record] = []
        for i, spec in enumerate(self.specs):
            entropy = self.noise_entropies[i]
            if entropy is None and _needs_predictor(spec) and math.isfinite(unsure[i]):
                # The least so far: an untrained predictor is unsure of labels that it only has to learn.
                estimate = estimated_entropy(unsure[i] / examples, classes)
                entropy = self.estimates[i] = min(self.estimates[i], estimate)
            capacity = _capacity(spec, square_norm[i] / examples, classes)
            self.capacities[i] += capacity or 0.0
            records.append(
                {
                    "noise_entropy": entropy,
                    "memorised_bits": implied_bits(1 - correct[i] / examples, entropy, classes),
                    "wrong_fitted": fitted[i] / wrong[i] if wrong[i] else None,
                    "capacity_bits": None if capacity is None else self.capacities[i],
                }
            )
        return records

    def _finish(self, leaving: Sequence[int], failures: Sequence[str | None]) -> Iterator[Finished]:
        """Score the examples once more for the rows that leave, with the best and with the last weights."""
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
            yield Finished(
                row=self.rows[i],
                history=tuple(self.histories[i]),
                best_epoch=self.bests[i].epoch,
                failure=failures[i],
                classifier=classifier,
                predictor=predictor,
                best={name: scores[k] for name, scores in best.items()},
                last=last[k],
                transition=self.transitions[i],
            )

    def _keep(self, rows: Sequence[int]) -> None:
        self.rows = [self.rows[i] for i in rows]
        self.specs = [self.specs[i] for i in rows]
        self.histories = [self.histories[i] for i in rows]
        self.bests = [self.bests[i] for i in rows]
        self.transitions = [self.transitions[i] for i in rows]
        self.noise_entropies = [self.noise_entropies[i] for i in rows]
        self.capacities = [self.capacities[i] for i in rows]
        self.estimates = [self.estimates[i] for i in rows]
        if rows:
            self.data = self.data.keep(rows)
            self.networks.keep(rows)
            self._arrange()


def _needs_predictor(spec: RunSpec) -> bool:
    return get_method(spec.method).needs_predictor


def _capacity(spec: RunSpec, mean_square_norm: float, classes: int) -> float | None:
    """Bits per label that an epoch's sampled gradients may have told (Prop. 3.1); None for other methods.

    None as well where labels reach the weights by another way (a start that may know them, an order that is
    drawn from them), and without noise, where the bound is infinite.
    """
    method = get_method(spec.method)
    if spec.sampler != "shuffled" or spec.initial_weights is not None:
        return None
    if not method.needs_predictor or method.draws is None or not math.isfinite(mean_square_norm):
        return None
    sigma = spec.hyper["sigma"]
    return float(gradient_capacity(mean_square_norm, classes, sigma, method.draws)) if sigma else None


def _learning_rate(spec: RunSpec, epoch: int) -> float:
    return spec.learning_rate * SCHEDULES[spec.schedule]((epoch - 1) / spec.epochs)


def _failure(bad_step: int, steps: int, epoch: int) -> str:
    what = "the loss" if bad_step >= 0 else "a weight or the validation loss"
    where = f"step {bad_step if bad_step >= 0 else steps - 1} (epoch {epoch})"
    return f"{what} was not a finite number at {where}: lower the learning rate"
