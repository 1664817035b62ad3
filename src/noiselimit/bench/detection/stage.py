"""One training with what it took: seconds and peak memory. On a CPU it has a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import noiselimit
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.peers import Arrays
from noiselimit.bench.detection.problem import Labelled, Problem, load_problem
from noiselimit.bench.detection.trainings import TRAININGS
from noiselimit.cohort.device import find_device
from noiselimit.cohort.worker_processes import watch
from noiselimit.data.npz import read_arrays

CHILD = (
    "import sys; sys.path.insert(0, sys.argv[1]); "  # the same package wherever the process finds itself
    "from noiselimit.cohort.worker_processes import end_with_parent; end_with_parent(); "
    "from noiselimit.bench.detection.stage import child; child(*sys.argv[2:])"
)
PLACE = Path(noiselimit.__file__).resolve().parent.parent
Took = dict[str, Any]


def train_stage(training: str, problem: Problem, labelled: Labelled, how: How) -> tuple[Arrays, Took]:
    """What the training found, and `seconds`, `cpu_seconds` (all threads) and `peak_memory` in bytes.

    Of a GPU that is the most that was allocated at once; of a CPU the most that its process held.
    """
    if find_device(how.device).type == "cuda":
        return _timed(training, labelled, problem.seed, how)
    with tempfile.TemporaryDirectory() as folder, watch() as watched:
        job, answer = Path(folder) / "job.json", Path(folder) / "answer.npz"
        wanted = {"training": training, "problem": asdict(problem), "how": asdict(how)}
        job.write_text(json.dumps(wanted))
        command = [sys.executable, "-c", CHILD, str(PLACE), str(job), str(answer)]
        ended = subprocess.run(command, stdin=watched, stderr=subprocess.PIPE, text=True, check=False)
        if ended.returncode:
            said = ended.stderr.strip().splitlines()
            raise RuntimeError(said[-1] if said else f"the process ended with {ended.returncode}")
        found = read_arrays(answer)
    return found, json.loads(str(found.pop("took")))


def child(job: str, answer: str) -> None:
    """The process of a training on a CPU."""
    wanted = json.loads(Path(job).read_text())
    problem, how = Problem(**wanted["problem"]), How(**wanted["how"])
    found, took = _timed(wanted["training"], load_problem(problem), problem.seed, how)
    arrays: dict[str, Any] = {**found, "took": json.dumps({**took, "peak_memory": _most_resident()})}
    np.savez(answer, **arrays)


def _timed(training: str, labelled: Labelled, seed: int, how: How) -> tuple[Arrays, Took]:
    import torch

    from noiselimit.bench.timing import forget_memory

    device = find_device(how.device)
    forget_memory(device)
    started, computed = time.perf_counter(), time.process_time()
    found = TRAININGS[training](labelled.data, seed, how)
    took: Took = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - computed,
        "peak_memory": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
    }
    return found, took


def _most_resident() -> int | None:
    """Bytes of main memory that this process held at most, where the system tells it."""
    if os.name != "posix":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
