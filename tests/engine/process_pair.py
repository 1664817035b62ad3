"""Two processes that train together: `python -m tests.engine.process_pair WHAT FOLDER ARGUMENT...`."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import torch

import noiselimit.engine.stream
from noiselimit import InputError, Run, grid, train
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.block import Block
from noiselimit.training import Stopped
from tests.engine.streamed_pictures import streamed

SETTINGS: dict[str, Any] = {
    "noise": "uniform:0.3",
    "network": "small-cnn",
    "dropout": 0.2,
    "augmentation": "flip-crop",
    "batch_size": 16,
    "epochs": 4,
    "train_size": 35,  # batches of 16, 16 and 3: each process computes the whole of the last
}
HOW: dict[str, Any] = {"threads": 1, "device": "cpu", "checkpoints": 0}
TRAIN_LINE = (
    "train --data digits --noise uniform:0.2 --method limit-l --beta 3 --epochs 5 --train-size 300 "
    "--batch-size 30 --network small-cnn --device cpu --checkpoints 0 --quiet --out runs"
)
TRAIN = TRAIN_LINE.split()


def pictures(seed: int = 3) -> DataSet:
    """Three classes of 8 × 8 images with weights, 61 examples."""
    generator = np.random.default_rng(seed)
    labels = np.arange(61) % 3
    inputs = generator.integers(0, 60, size=(61, 1, 8, 8))
    inputs[np.arange(61), 0, 2 * labels] += 150
    examples = make_examples(inputs.astype(np.uint8), labels, weights=generator.uniform(0.5, 2, 61))
    return DataSet("pictures", examples)


def train_all(out: Path, **how: Any) -> list[Run]:
    """Runs whose batches are more than the sum of their parts; the last is on streamed pictures."""
    noiselimit.engine.stream.MOST_WORKERS = 0  # decodes in this process
    specs = grid(method=["limit-l+s", "soft-penalty", "dmi", "fw"], **SETTINGS)
    runs = train(specs, pictures(), out=out, averaged=True, **HOW, **how)
    return [*runs, *train(specs[0], streamed(pictures()), out=out, **HOW, **how)]


def refusals(rank: int, folder: Path) -> list[str]:
    """What goes wrong, each in both processes."""
    spec, data = grid(method="dmi", **SETTINGS)[0], pictures()
    both = partial(train, spec, data, distributed=True, **HOW)
    calls: list[Callable[[], object]] = [
        partial(train, dataclasses.replace(spec, batch_size=3), data, distributed=True, **HOW),
        partial(train, spec, pictures(rank), distributed=True, **HOW),
        partial(both, out=folder / ("runs", "none")[rank]),
        partial(both, stop=lambda: rank == 1),
    ]
    found = []
    for call in calls:
        try:
            call()
            found.append("nothing")
        except (InputError, Stopped) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@contextmanager
def pair(what: str, folder: Path, *arguments: str) -> Iterator[Callable[[], list[tuple[int, str, str]]]]:
    """Run two processes; yields a function that waits and returns (exit code, stdout, stderr) of each.

    They meet at a file and talk over the loopback device.
    """
    folder.mkdir(exist_ok=True)
    words = [sys.executable, "-m", __name__, what, str(folder.with_name(f"{folder.name}-{what}")), *arguments]
    base = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "GLOO_SOCKET_IFNAME": "lo"}
    base |= {
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "error,default::UserWarning",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
    }
    base |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    with ExitStack() as stack:
        started = []
        for rank in ("0", "1"):
            own = {**base, "RANK": rank, "LOCAL_RANK": rank}
            process = subprocess.Popen(words, cwd=folder, env=own, stdout=PIPE, stderr=PIPE, text=True)
            started.append(stack.enter_context(process))
            stack.callback(process.kill)

        def finish() -> list[tuple[int, str, str]]:
            said = [process.communicate(timeout=300) for process in started]
            return [(process.returncode, *texts) for process, texts in zip(started, said, strict=True)]

        yield finish


def die_at(epoch: int) -> None:
    """Kill this process when it has trained so many epochs."""
    evaluate = Block._evaluate_epoch

    def killed(block: Block, now: int, *others: Any) -> None:
        if now == epoch:
            os.kill(os.getpid(), signal.SIGKILL)
        evaluate(block, now, *others)

    Block._evaluate_epoch = killed  # type: ignore[method-assign]


def main(what: str, store: str, *arguments: str) -> int:
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    if what == "train":
        runs = train_all(Path("runs"), distributed=True)
        print(json.dumps([[dict(record) for record in run.history] for run in runs]))
        print(json.dumps(refusals(rank, Path())))
        return 0
    from noiselimit.cli.main import run

    if what == "kill" and rank == 1:
        die_at(epoch=3)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
