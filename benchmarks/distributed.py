"""Images per second and memory of one run in one process and in two, each with one thread on a CPU."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import pandas as pd
import torch
import typer

from benchmarks.results import Quick, environment
from benchmarks.speed import random_data
from noiselimit.files import make_folder, write_json
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

FULL = {"small-cnn": (256, 4096), "resnet-18": (64, 128)}
QUICK = {"small-cnn": (32, 64)}
"""Network → batch size and training examples, images of 3 × 32 × 32 pixels."""
ROUNDS, EPOCHS = 3, 2
Entry = dict[str, Any]


def train_here(network: str, batch_size: int, examples: int) -> Entry:
    """Seconds per epoch of this process, or of one of several: what `EPOCHS` more epochs add."""
    torch.set_num_threads(1)
    several = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if several:
        torch.distributed.init_process_group("gloo")
    data, times = random_data("cifar10", 5 * examples // 4, 10), []
    for epochs in (1, 1, 1 + EPOCHS):  # the first warms up
        before = time.perf_counter(), time.process_time()
        spec = RunSpec("ce", network=network, batch_size=batch_size, epochs=epochs, train_size=examples)
        train(spec, data, device="cpu", threads=1, distributed=several)
        times.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    if several:
        torch.distributed.destroy_process_group()
    wall, computed = (max(long - short, 1e-9) / EPOCHS for short, long in zip(*times[1:], strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": wall, "processor_seconds": computed, "peak_memory_mib": round(peak, 1)}


def measure(processes: int, network: str, batch_size: int, examples: int) -> Entry:
    """Images per second by the clock, and by the processor time of the busiest process."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    with tempfile.TemporaryDirectory() as folder:
        work = ["-m", "benchmarks.distributed", folder, network, str(batch_size), str(examples)]
        words = [sys.executable, *(launch if processes > 1 else []), *work]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        load = os.getloadavg()[0]
        subprocess.run(words, check=True, env=one_thread, stdout=subprocess.DEVNULL)
        found = [json.loads(path.read_text("utf-8")) for path in sorted(Path(folder).iterdir())]
    slowest = {name: max(each[name] for each in found) for name in found[0]}
    return {
        "processes": len(found),
        "images_per_second": examples / slowest["seconds"],
        "images_per_processor_second": examples / slowest["processor_seconds"],
        "peak_memory_mib": slowest["peak_memory_mib"],
        "load_before": load,
    }


def compare(network: str, batch_size: int, examples: int, rounds: int) -> Entry:
    """One process and two take turns; the ratios are of medians."""
    tried = [measure(processes, network, batch_size, examples) for _ in range(rounds) for processes in (1, 2)]
    rates = ("images_per_second", "images_per_processor_second", "peak_memory_mib")
    middle = pd.DataFrame(tried).groupby("processes")[list(rates)].median()
    return {
        "network": network,
        "batch_size": batch_size,
        "examples": examples,
        **{f"{name}_ratio": middle[name][2] / middle[name][1] for name in rates},
        "load": median(each["load_before"] for each in tried),
        "tried": tried,
    }


def main(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = Path("distributed.json"),
    quick: Quick = False,
) -> None:
    """Measure one run in two CPU processes against one, each with one thread.

    The ratio by the clock needs two free cores. That by processor time shows what other work hides, but not
    waiting for the other process.
    """
    make_folder(out.parent)
    rows = []
    for network, (batch_size, examples) in (QUICK if quick else FULL).items():
        rows.append(compare(network, batch_size, examples, 1 if quick else ROUNDS))
        write_json(out, {**environment(torch.device("cpu")), "quick": quick, "rows": rows})
    print(pd.DataFrame(rows).drop(columns="tried").to_string(index=False))


if __name__ == "__main__":
    folder, network, *sizes = sys.argv[1:]
    figures = train_here(network, *map(int, sizes))
    Path(folder, f"{os.environ.get('RANK', 0)}.json").write_text(json.dumps(figures), "utf-8")
