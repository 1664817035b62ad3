"""Times tiles of the stacked convolution on a GPU: what the rules in kernels/convolution_tiles.py rest on.

    python docs/measure_tiles.py   → results/tiles.json

The layers of the MNIST network, 80 networks (40 runs) of bfloat16, batches of 256. Compiles in one process
per core first, which takes longer than the timing.
"""

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from noiselimit.bench.provenance import source_state
from noiselimit.files import write_json
from noiselimit.kernels import convolution_tiles
from noiselimit.kernels.convolution_tiles import Geometry, Tile
from noiselimit.training import circumstances

RESULT = Path(__file__).resolve().parent.parent / "results" / "tiles.json"
NETWORKS, BATCH = 80, 256
LAYERS = {
    "1 → 32": Geometry(1, 32, 4, 4, 2, 1, 28, 28, 14, 14),
    "32 → 32": Geometry(32, 32, 4, 4, 2, 1, 14, 14, 7, 7),
    "32 → 64": Geometry(32, 64, 3, 3, 2, 0, 7, 7, 3, 3),
}
PRODUCTS = ("forward", "input_gradient", "weight_gradient")
Case = tuple[str, str, Tile]


def usual(layer: str, product: str) -> Tile:
    """What the rules choose."""
    rule: Callable[..., Tile] = getattr(convolution_tiles, f"{product}_tile")
    return rule(LAYERS[layer], torch.bfloat16)


def cases() -> list[Case]:
    """Every layer and product with tiles around the usual one, that one included."""
    found = []
    for (layer, g), product in itertools.product(LAYERS.items(), PRODUCTS):
        if product == "input_gradient" and g.CI < 16:
            continue  # nobody asks for the gradient of the pictures
        own = usual(layer, product)
        columns = [own.BK] if g.CI < 16 else [32, 64, 128]
        sizes = itertools.product([64, 128, 256], columns, [4, 8], [1, 2, 3, 4])
        tiles = {replace(own, BM=bm, BK=bk, num_warps=w, num_stages=s) for bm, bk, w, s in sizes} | {own}
        found += [(layer, product, tile) for tile in sorted(tiles, key=str)]
    return found


def work(case: Case, networks: int) -> Callable[[], Any]:
    """The product on random values."""
    from noiselimit.kernels import convolution

    layer, product, tile = case
    g = LAYERS[layer]

    def values(*shape: int) -> torch.Tensor:
        return torch.randn(networks, *shape, device="cuda").bfloat16()

    x, dy = values(BATCH, g.H, g.W, g.CI), values(BATCH, g.OH, g.OW, g.CO)
    weight = values(g.CO, g.KH, g.KW, g.CI)
    if product == "forward":
        return lambda: convolution.forward(x, weight, g, tile)
    if product == "input_gradient":
        return lambda: convolution.input_gradient(dy, weight, g, tile)
    return lambda: convolution.weight_gradient(x, dy, g, tile)


def compile_share(number: int, shares: int) -> None:
    """Every `shares`-th case once; what does not compile is left out later."""
    for case in cases()[number::shares]:
        try:
            work(case, 1)()
        except Exception as error:
            print(f"{case}: {type(error).__name__}", file=sys.stderr)
    torch.cuda.synchronize()


def measure() -> dict[str, Any]:
    """Microseconds of every case that compiles."""
    from triton.testing import do_bench_cudagraph

    shares = os.cpu_count() or 1
    command = [sys.executable, __file__, "--compile"]
    processes = [subprocess.Popen([*command, f"{share}/{shares}"]) for share in range(shares)]
    for process in processes:
        process.wait()
    rows = []
    for case in cases():
        try:
            microseconds = 1000 * do_bench_cudagraph(work(case, NETWORKS), rep=8)
        except Exception:
            continue
        rows.append(row(case, microseconds))
    commit, changed = source_state()
    facts = {**circumstances(torch.device("cuda")), "commit": commit, "changed": changed}
    return {**facts, "networks": NETWORKS, "batch": BATCH, "rows": rows}


def row(case: Case, microseconds: float) -> dict[str, Any]:
    """One line of the result."""
    layer, product, tile = case
    return {"layer": layer, "product": product, "tile": asdict(tile), "microseconds": round(microseconds, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--compile", metavar="I/N", help="compile one share of the cases and end")
    given = parser.parse_args()
    if given.compile:
        compile_share(*map(int, given.compile.split("/")))
    else:
        write_json(given.out, measure())


if __name__ == "__main__":
    main()
