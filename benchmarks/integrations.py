"""LIMIT through each integration: accuracy next to that of `noiselimit.train`, and the cost of `Limit`."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.results import RESULTS, Quick, environment
from noiselimit.data.examples import DataSet, take_examples
from noiselimit.data.mnist import digits
from noiselimit.files import write_json
from noiselimit.integrations.torch import Limit
from noiselimit.loss import LimitLoss
from noiselimit.networks import Architecture
from noiselimit.noise import UniformNoise
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

NOISE, BETA, BATCH, RATE = 0.4, 3.0, 32, 1e-3
TEST = 400
"""Digits with right labels."""


def network(classes: int = 10) -> nn.Module:
    """The network that all train."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, classes))


@dataclass(frozen=True)
class Task:
    """Digits with noisy labels to train on, and a clean test part."""

    data: DataSet
    inputs: Tensor
    labels: Tensor
    test_inputs: Tensor
    test_labels: Tensor
    epochs: int
    seed: int

    def accuracy(self, classifier: nn.Module) -> float:
        """On the test part."""
        with torch.no_grad():
            return float((classifier.eval()(self.test_inputs).argmax(1) == self.test_labels).float().mean())

    def loader(self) -> "DataLoader[tuple[Tensor, ...]]":
        """Batches of inputs, labels and rows."""
        rows = torch.arange(len(self.labels))
        return DataLoader(TensorDataset(self.inputs, self.labels, rows), BATCH, shuffle=True)


def make_task(seed: int, epochs: int) -> Task:
    """The same rows, labels and scaling for all, which `train` gets from the data."""
    order, examples = np.random.default_rng(seed).permutation(1797), digits().examples
    held, test = order[:TEST], take_examples(examples, order[:TEST])
    noisy = UniformNoise(NOISE).apply(take_examples(examples, order[len(held) :]), seed)
    pixels = np.asarray(noisy.inputs[:], np.float32)
    centre, spread = pixels.mean(), pixels.std()

    def scaled(values: Any) -> Tensor:
        return torch.from_numpy((np.asarray(values[:], np.float32) - centre) / spread)

    return Task(
        DataSet("digits", noisy, test=test, validation=test),
        scaled(noisy.inputs),
        torch.from_numpy(noisy.labels),
        scaled(test.inputs),
        torch.from_numpy(test.labels),
        epochs,
        seed,
    )


def by_train(task: Task) -> float:
    """`noiselimit.train`; the accuracy of the last epoch, because the others choose none."""
    spec = RunSpec(
        "limit-l",
        {"beta": BETA},
        seed=task.seed,
        network=network,  # type: ignore[arg-type]
        epochs=task.epochs,
        batch_size=BATCH,
        learning_rate=RATE,
    )
    return float(train(spec, task.data, threads=1)[0].metrics["last_test_accuracy"])


def by_limit(task: Task) -> float:
    """`Limit` in a loop."""
    limit = Limit(network(), network(), beta=BETA, examples=len(task.labels))
    optimiser = torch.optim.Adam(limit.parameters(), RATE)
    for _ in range(task.epochs):
        for inputs, labels, rows in task.loader():
            optimiser.zero_grad()
            limit(inputs, labels=labels, rows=rows).loss.backward()
            optimiser.step()
    return task.accuracy(limit.classifier)


def by_lightning(task: Task) -> float:
    """`LimitModule`, which trains by the callback."""
    from lightning.pytorch import Trainer

    from noiselimit.integrations.lightning import LimitModule

    module = LimitModule(network(), RATE, beta=BETA, predictor=network(), examples=len(task.labels))
    quiet: dict[str, Any] = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    Trainer(max_epochs=task.epochs, accelerator="cpu", **quiet).fit(module, task.loader())
    return task.accuracy(module)


class ForTransformers(nn.Module):
    """The network with the arguments and outputs of Transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network()

    def forward(self, pixel_values: Tensor) -> dict[str, Tensor]:
        return {"logits": self.network(pixel_values)}


def by_transformers(task: Task) -> float:
    """`LimitTrainer`."""
    from transformers import TrainingArguments

    from noiselimit.integrations.transformers import LimitTrainer

    examples = [
        {"pixel_values": x, "labels": y} for x, y in zip(task.inputs, task.labels.tolist(), strict=True)
    ]
    model = ForTransformers()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=task.epochs, per_device_train_batch_size=BATCH, learning_rate=RATE,
            lr_scheduler_type="constant", max_grad_norm=0.0, report_to="none", use_cpu=True, seed=task.seed,
            save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False,
        )  # fmt: skip
        LimitTrainer(model, arguments, predictor=ForTransformers(), beta=BETA, train_dataset=examples).train()
    return task.accuracy(model.network)


WAYS = {
    "train": by_train,
    "Limit": by_limit,
    "Lightning": by_lightning,
    "Transformers": by_transformers,
}


def step_costs(steps: int, repeats: int) -> dict[str, float]:
    """Median time of a step with `Limit`, with and without rows, divided by that of a plain loop.

    Of `small-cnn` on 128 pictures of MNIST's size. Blocks of steps alternate, so that a change of its speed
    meets all of them.
    """
    torch.manual_seed(0)
    inputs, labels, rows = torch.randn(128, 1, 28, 28), torch.randint(10, (128,)), torch.arange(128)
    networks = [Architecture("small-cnn").build((1, 28, 28), 10, seed) for seed in range(2)]
    criterion = LimitLoss(BETA)
    bare, recording = Limit(*networks, beta=BETA), Limit(*networks, beta=BETA, examples=128)
    losses: dict[str, Callable[[], Tensor]] = {
        "plain": lambda: criterion(networks[0](inputs)[0], labels, networks[1](inputs)[0])[0],
        "Limit": lambda: bare(inputs, labels=labels).loss,
        "Limit with rows": lambda: recording(inputs, labels=labels, rows=rows).loss,
    }
    optimiser = torch.optim.Adam(bare.parameters(), RATE)
    seconds: dict[str, list[float]] = {name: [] for name in losses}
    for _ in range(repeats):
        for name, loss in losses.items():
            started = time.perf_counter()
            for _ in range(steps):
                optimiser.zero_grad()
                loss().backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            seconds[name].append(time.perf_counter() - started)
    ratios = {
        name: [own / other for own, other in zip(found, seconds["plain"], strict=True)]
        for name, found in seconds.items()
    }
    return {name: median(found) for name, found in ratios.items() if name != "plain"}


def main(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = RESULTS
    / "integrations.json",
    seeds: Annotated[int, typer.Option(metavar="N", help="Number of seeds.", min=2)] = 3,
    quick: Quick = False,
) -> None:
    """Compare LIMIT through every integration with `noiselimit.train`, on one CPU thread; time `Limit`."""
    torch.set_num_threads(1)
    epochs = 2 if quick else 40
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for seed in range(seeds):
        task = make_task(seed, epochs)
        for name, way in WAYS.items():
            torch.manual_seed(seed)
            found[name].append(way(task))
    rows = [
        {"way": name, "accuracy": mean(values), "deviation": stdev(values), "by_seed": values}
        for name, values in found.items()
    ]
    costs = step_costs(2 if quick else 10, 3 if quick else 31)
    for row in rows:
        print(f"{row['way']:<14}{row['accuracy']:7.1%} ± {row['deviation']:.1%}")
    for name, ratio in costs.items():
        print(f"{name:<17}{ratio - 1:+7.1%} of a plain step")
    facts = {"data": "digits", "noise": f"uniform:{NOISE:g}", "beta": BETA, "epochs": epochs}
    write_json(out, {**environment(torch.device("cpu")), **facts, "rows": rows, "step_costs": costs})
