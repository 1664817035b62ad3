"""A machine whose memory does not suffice, by the system's limit on a process: less at once or a sentence."""

import subprocess
import sys

import pytest

TRAINING = """
import resource
import numpy as np
from noiselimit import grid, train

inputs, labels = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3
how = {"epochs": 1, "batch_size": 16, "network": "mlp-4x512", "method": "ce"}
train(grid(seed=99, **how), (inputs, labels), threads=1, device="cpu")  # what libraries take at first
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
limit = used + 400_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(len(train(grid(seed=list(range(32)), **how), (inputs, labels), threads=1, device="cpu")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_cohort_that_is_too_large_trains_in_parts() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TRAINING], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "32\n"), ended.stderr
    assert "Notice: 32 runs did not fit into the machine's memory at once" in ended.stderr


def test_memory_that_runs_out_elsewhere_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from noiselimit.cli.main import run

    def large(*arguments: object) -> None:
        raise MemoryError("Unable to allocate 4.00 TiB for an array")

    monkeypatch.setattr("noiselimit.data.catalogue.load_data", large)
    assert run(["train", "--data", "digits"]) == 2
    assert capsys.readouterr().err == (
        "noiselimit: the machine's memory ran out (Unable to allocate 4.00 TiB for an array): take fewer "
        "examples, or a machine that has more.\n"
    )
