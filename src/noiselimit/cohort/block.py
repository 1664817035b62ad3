"""The training of one block of rows: the loop of the paper's Alg. 1 over K runs at once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from noiselimit.cohort.batches import batch_bounds
from noiselimit.cohort.device import BlockData, Part
from noiselimit.cohort.draws import DRAWS, permutations, stream_keys
from noiselimit.cohort.outcome import Finished, Record, Scores
from noiselimit.cohort.rows import NetworkRows
from noiselimit.cohort.stopping import BestEpoch
from noiselimit.cohort.totals import EpochTotals
from noiselimit.methods import Batch, Method, get_method
from noiselimit.networks import get_network
from noiselimit.networks.initial import Role, initial_state
from noiselimit.optimisers import OPTIMISERS, Rates
from noiselimit.randomness import Stream
from noiselimit.schedules import SCHEDULES
from noiselimit.spec import RunSpec


@dataclass(frozen=True)
class _Group:
    """Neighbouring rows of one method."""

    method: Method
    rows: slice
    hyper: Mapping[str, Tensor]
    sampling_keys: Tensor


class Block:
    """K rows on one device. Rows that need a predictor come first; rows of one method are neighbours."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        data: BlockData,
        device: torch.device,
        input_shape: tuple[int, ...],
        classes: int,
    ) -> None:
        order = sorted(range(len(specs)), key=lambda i: (_lacks_predictor(specs[i]), specs[i].method))
        self.rows = order
        self.specs = [specs[i] for i in order]
        self.data = data.keep(order)
        self.device = device
        self.step = torch.zeros((), dtype=torch.int64, device=device)
        self.histories: list[list[Record]] = [[] for _ in order]
        self.bests = [BestEpoch() for _ in order]
        self._arrange()

        first = self.specs[0]
        optimiser = OPTIMISERS[first.optimiser]

        def network_rows(name: str, specs: Sequence[RunSpec], role: Role) -> NetworkRows:
            module = get_network(name).build(input_shape, classes)
            return NetworkRows(
                module, [initial_state(module, s.seed, role) for s in specs], optimiser, device
            )

        self.classifier = network_rows(first.network, self.specs, Role.CLASSIFIER)
        self.predictor: NetworkRows | None = None
        with_predictor = [spec for spec in self.specs if not _lacks_predictor(spec)]
        if with_predictor:
            name = first.predictor_network or first.network
            self.predictor = network_rows(name, with_predictor, Role.PREDICTOR)

    def _arrange(self) -> None:
        """Everything that follows from which rows there are."""
        self.groups = []
        methods = [spec.method for spec in self.specs]
        for name in dict.fromkeys(methods):
            rows = slice(methods.index(name), methods.index(name) + methods.count(name))
            members = self.specs[rows]
            method = get_method(name)
            hyper = {
                h: self._vector([spec.hyper[h] for spec in members], torch.float32) for h in method.hyper
            }
            keys = stream_keys([spec.seed for spec in members], Stream.SAMPLING, self.device)
            self.groups.append(_Group(method, rows, hyper, keys))
        self.predictor_count = sum(not _lacks_predictor(spec) for spec in self.specs)
        self.order_keys = stream_keys([spec.seed for spec in self.specs], Stream.ORDER, self.device)

    def _vector(self, values: Sequence[float], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=self.device)

    def train(self, on_epoch: Callable[[int, Record], None], stop: Callable[[], bool]) -> Iterator[Finished]:
        """Train until no row is left; rows leave at the end of an epoch. `on_epoch` gets (row, record)."""
        epoch = 0
        while self.specs:
            epoch += 1
            trained = self._train_epoch(epoch, stop)
            if trained is None:
                return
            failures = self._close_epoch(epoch, trained, on_epoch)
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
        rates = self._rates(epoch)
        part = self.data.train
        order = permutations(self.order_keys, torch.tensor(epoch, device=self.device), len(part))
        totals = EpochTotals.zeros(len(self.specs), self.device)
        for start, end in batch_bounds(len(part), self.specs[0].batch_size):
            if stop():
                return None
            inputs, labels = self.data.batch(part, order[:, start:end])
            losses, logits = self._losses(inputs, labels)
            self._update(losses, rates)
            totals.add(losses.detach(), logits.detach(), labels, self.step)
            self.step += 1
        return totals

    def _losses(self, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """[K] losses and [K, B, C] classifier logits of one batch."""
        logits, features = self.classifier.train(inputs)
        predicted = None
        if self.predictor is not None:
            predicted = self.predictor.train(inputs[: self.predictor_count])[0]
        losses = []
        for group in self.groups:
            rows, method = group.rows, group.method
            draws = None
            if method.draws:
                draws = DRAWS[method.draws](
                    group.sampling_keys, self.step, (logits.shape[1], logits.shape[2])
                )
            batch = Batch(
                logits=logits[rows],
                features=features[rows],
                labels=labels[rows],
                predictor_logits=predicted[rows]
                if method.needs_predictor and predicted is not None
                else None,
                draws=draws,
                step=self.step,
            )
            losses.append(method.loss(batch, group.hyper))
        return torch.cat(losses), logits

    def _update(self, losses: Tensor, rates: Rates) -> None:
        """The sum's gradient holds each row's own: no loss depends on another row's weights."""
        networks = [self.classifier] if self.predictor is None else [self.classifier, self.predictor]
        leaves = [tensor for network in networks for tensor in network.parameters.values()]
        gradients = torch.autograd.grad(losses.sum(), leaves)
        taken = 0
        for network in networks:
            count = len(network.parameters)
            rows = len(next(iter(network.parameters.values())))
            network.update(gradients[taken : taken + count], rates.first(rows))
            taken += count

    def _rates(self, epoch: int) -> Rates:
        rates = [s.learning_rate * SCHEDULES[s.schedule]((epoch - 1) / s.epochs) for s in self.specs]
        return Rates(
            learning_rate=self._vector(rates, torch.float64),
            weight_decay=self._vector([s.weight_decay for s in self.specs], torch.float64),
            momentum=self._vector([s.momentum for s in self.specs], torch.float64),
            step=self.step,
        )

    def _close_epoch(
        self, epoch: int, totals: EpochTotals, on_epoch: Callable[[int, Record], None]
    ) -> list[str | None]:
        """Evaluate, write history, remember the best; returns why each row failed, or None."""
        finite = self.classifier.finite()
        if self.predictor is not None:
            finite[: self.predictor_count] &= self.predictor.finite()
        validation_accuracy, validation_loss = self._accuracy(self.data.validation)
        test_accuracy = self._accuracy(self.data.test)[0] if self.data.test else [None] * len(self.specs)
        train_size, steps_taken = len(self.data.train), int(self.step)
        failures: list[str | None] = []
        for i, spec in enumerate(self.specs):
            bad_step = int(totals.first_bad[i])
            if bad_step >= 0 or not finite[i] or not math.isfinite(validation_loss[i]):
                where = f"step {bad_step if bad_step >= 0 else steps_taken - 1} (epoch {epoch})"
                what = "the loss" if bad_step >= 0 else "a weight or the validation loss"
                failures.append(f"{what} was not a finite number at {where}: lower the learning rate")
                continue
            failures.append(None)
            record: Record = {
                "epoch": epoch,
                "step": steps_taken,
                "learning_rate": spec.learning_rate * SCHEDULES[spec.schedule]((epoch - 1) / spec.epochs),
                "train_loss": float(totals.loss[i]) / train_size,
                "train_accuracy": int(totals.correct[i]) / train_size,
                "validation_loss": validation_loss[i],
                "validation_accuracy": validation_accuracy[i],
                "test_accuracy": test_accuracy[i],
            }
            self.histories[i].append(record)
            self.bests[i] = self.bests[i].after(epoch, validation_accuracy[i], validation_loss[i])
            on_epoch(self.rows[i], record)
        improved = [i for i, best in enumerate(self.bests) if best.epoch == epoch]
        if improved:
            self.classifier.remember(improved)
            with_predictor = [i for i in improved if i < self.predictor_count]
            if self.predictor is not None and with_predictor:
                self.predictor.remember(with_predictor)
        return failures

    def _accuracy(self, part: Part) -> tuple[list[float], list[float]]:
        """Exact accuracy and mean cross-entropy of the classifier on the given labels of a part, per row."""
        correct = torch.zeros(len(self.specs), dtype=torch.int64, device=self.device)
        loss = torch.zeros(len(self.specs), dtype=torch.float64, device=self.device)
        for inputs, labels in self.data.batches(part):
            logits = self.classifier.logits(inputs)
            correct += (logits.argmax(-1) == labels).sum(1)
            picked = logits.log_softmax(-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
            loss -= picked.to(torch.float64).sum(1)
        return [c / len(part) for c in correct.tolist()], [value / len(part) for value in loss.tolist()]

    def _finish(self, leaving: Sequence[int], failures: Sequence[str | None]) -> Iterator[Finished]:
        """Score the examples once more for the rows that leave, with the best and with the last weights."""
        data = self.data.keep(leaving)
        parts = {"train": data.train, "validation": data.validation, "test": data.test}
        best = {name: self._scores(data, part, leaving, best=True) for name, part in parts.items() if part}
        last = self._scores(data, data.train, leaving, best=False)
        for k, i in enumerate(leaving):
            has_predictor = self.predictor is not None and i < self.predictor_count
            yield Finished(
                row=self.rows[i],
                history=tuple(self.histories[i]),
                best_epoch=self.bests[i].epoch,
                failure=failures[i],
                classifier=self.classifier.best_state(i),
                predictor=self.predictor.best_state(i) if self.predictor and has_predictor else None,
                best={name: scores[k] for name, scores in best.items()},
                last=last[k],
            )

    def _scores(self, data: BlockData, part: Part, rows: Sequence[int], *, best: bool) -> list[Scores]:
        with_predictor = [i for i in rows if i < self.predictor_count]
        classifier, predictor = [], []
        for inputs, _ in data.batches(part):
            classifier.append(self.classifier.logits(inputs, rows, best=best).softmax(-1))
            if self.predictor is not None and with_predictor:
                inputs = inputs[: len(with_predictor)]
                predictor.append(self.predictor.logits(inputs, with_predictor, best=best).softmax(-1))
        said = torch.cat(classifier, 1).cpu()
        predicted = torch.cat(predictor, 1).cpu() if predictor else None
        return [
            Scores(said[k], predicted[k] if predicted is not None and k < len(with_predictor) else None)
            for k in range(len(rows))
        ]

    def _keep(self, rows: Sequence[int]) -> None:
        self.rows = [self.rows[i] for i in rows]
        self.specs = [self.specs[i] for i in rows]
        self.histories = [self.histories[i] for i in rows]
        self.bests = [self.bests[i] for i in rows]
        if not rows:
            return
        self.data = self.data.keep(rows)
        self.classifier.keep(rows)
        with_predictor = [i for i in rows if i < self.predictor_count]
        if self.predictor is not None:
            self.predictor.keep(with_predictor)
            self.predictor = self.predictor if with_predictor else None
        self._arrange()


def _lacks_predictor(spec: RunSpec) -> bool:
    return not get_method(spec.method).needs_predictor
