"""What a cohort of one costs beside the plain network: docs/networks.md.

    python docs/measure_networks.py [--device cuda]

Times a training step (forward, backward, Adam) of cross-entropy, once through the engine with K = 1 and once
as a plain PyTorch loop with torch.optim.Adam, in turn in one process, and writes the ratio of the medians to
results/networks.json or results/networks-cuda.json.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.nn.functional import cross_entropy

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "networks.json"
CASES = {"mnist-cnn": ((1, 28, 28), 256), "resnet-18": ((3, 32, 32), 32), "resnet-34": ((3, 32, 32), 32)}
ROUNDS = 15


def measure(device: torch.device) -> dict[str, Any]:
    """Seconds per step, engine and plain, for every case; on a CPU with one thread."""
    from noiselimit.training import circumstances

    torch.set_num_threads(1)
    facts = circumstances(device)
    return {
        "command": f"python docs/measure_networks.py --device {device.type}",
        "hardware": facts["device"],
        "versions": facts["versions"],
        "rounds": ROUNDS,
        "threads": 1,
        "networks": [
            compare(name, shape, batch if device.type == "cpu" else 256, device)
            for name, (shape, batch) in CASES.items()
        ],
    }


def compare(name: str, shape: tuple[int, ...], batch: int, device: torch.device) -> dict[str, Any]:
    """Both ways in turn, so that whatever disturbs the machine disturbs both."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(batch, *shape, generator=generator).to(device)
    labels = torch.randint(10, (batch,), generator=generator).to(device)
    ways = {
        "engine": engine_step(name, inputs, labels, device),
        "plain": plain_step(name, inputs, labels, device),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for round_ in range(ROUNDS + 3):
        for way, step in list(ways.items())[:: 1 if round_ % 2 else -1]:  # neither is always the first
            if device.type == "cuda":
                torch.cuda.synchronize()
            started = time.perf_counter()
            step()
            if device.type == "cuda":
                torch.cuda.synchronize()
            if round_ >= 3:  # the first ones warm up
                seconds[way].append(time.perf_counter() - started)
    engine, plain = median(seconds["engine"]), median(seconds["plain"])
    return {"name": name, "batch": batch, "engine": engine, "plain": plain, "ratio": engine / plain}


def engine_step(
    name: str, inputs: torch.Tensor, labels: torch.Tensor, device: torch.device
) -> Callable[[], None]:
    """A step of a cohort of one."""
    from noiselimit.cohort.layouts import layout_for
    from noiselimit.cohort.pair import NetworkPair
    from noiselimit.cohort.rows import NetworkRows
    from noiselimit.methods import Batch, get_method
    from noiselimit.networks import Architecture, Role
    from noiselimit.optimisers import OPTIMISERS, Rates

    network, shape = Architecture(name), tuple(inputs.shape[1:])
    state = network.initial_state(shape, 10, 0, Role.CLASSIFIER)
    module = network.build(shape, 10)
    rows = NetworkRows(module, [state], OPTIMISERS["adam"], device, layout_for(module, device))
    pair = NetworkPair([rows], 1, 0)
    taken = torch.zeros((), dtype=torch.int64, device=device)
    loss = get_method("ce").loss

    def vector(value: float) -> torch.Tensor:
        return torch.tensor([value], dtype=torch.float64, device=device)

    rates = Rates(vector(1e-3), vector(0.0), vector(0.9), taken)

    def step() -> None:
        logits, features, _ = pair.train(inputs[None])
        pair.update(loss(Batch(logits, features, labels[None]), {}), [rates])
        taken.add_(1)

    return step


def plain_step(
    name: str, inputs: torch.Tensor, labels: torch.Tensor, device: torch.device
) -> Callable[[], None]:
    """A step as anybody would write it."""
    from noiselimit.networks import Architecture

    module = Architecture(name).build(tuple(inputs.shape[1:]), 10).to(device).train()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        cross_entropy(module(inputs)[0], labels).backward()
        optimiser.step()

    return step


def table(results: list[dict[str, Any]]) -> str:
    """The measurements as a Markdown table."""
    rows = [
        "| network | device | batch | cohort of one, ms | plain loop, ms | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for measured in results:
        for line in measured["networks"]:
            rows.append(
                f"| {line['name']} | {measured['hardware']} | {line['batch']} | "
                f"{1000 * line['engine']:.1f} | {1000 * line['plain']:.1f} | {line['ratio']:.2f} |"
            )
    versions = "; ".join(
        f"{measured['hardware']}: {', '.join(f'{n} {v}' for n, v in measured['versions'].items())}"
        for measured in results
    )
    rows += ["", f"Medians of {results[0]['rounds']} steps in turn, one CPU thread ({versions})."]
    return "\n".join(rows)


def stored() -> list[dict[str, Any]]:
    """What was measured so far, on the CPU first."""
    paths = [RESULTS, RESULTS.with_stem("networks-cuda")]
    return [json.loads(path.read_text("utf-8")) for path in paths if path.exists()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    device = torch.device(parser.parse_args().device)
    path = RESULTS if device.type == "cpu" else RESULTS.with_stem("networks-cuda")
    path.write_text(json.dumps(measure(device), indent=1) + "\n", "utf-8")
    print(table(stored()))


if __name__ == "__main__":
    main()
