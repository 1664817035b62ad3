"""All kernels compile for a GPU. The interpreter accepts Python that the compiler refuses."""

import os
import subprocess
import sys

COMPILE = """
from dataclasses import asdict
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from noiselimit.engine.kernels import adam, convolution, pictures, tally

def compiled(kernel, types, sizes, default="*fp32", **options):
    types = {**types, **dict.fromkeys(("count", "batch", "chunk", "predictors"), "i32")}
    types |= dict.fromkeys(sizes, "constexpr")
    signature = {name: types.get(name, default) for name in kernel.arg_names}
    source = ASTSource(kernel, signature, sizes)
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)

rates = {"learning_rates": "*fp64", "weight_decays": "*fp64", "steps": "*i64"}
compiled(adam._adam, rates, {"block": 1024})
sizes = {"channels": 3, "height": 32, "width": 32, "padding": 4, "block": 1024}
pointers = {"pictures": "*u8", "index": "*i64", "out": "*bf16", "flip": "*i1"}
compiled(pictures._make, pointers, sizes)
compiled(pictures._make, pointers, {**sizes, "flip": None, "down": None, "across": None})
sums = dict.fromkeys(("loss_sum", "unsure_sum", "norm_sum"), "*fp64")
counts = ("correct_sum", "wrong_sum", "fitted_sum", "first_bad", "labels", "step")
pointers = {**sums, **dict.fromkeys(counts, "*i64"), "wrong": "*i1"}
for sizes in ({"classes": 10, "padded": 16, "block": 128}, {"classes": 100, "padded": 128, "block": 16}):
    compiled(tally._tally, pointers, sizes)
compiled(tally._tally, pointers, {**sizes, "predicted": None, "wrong": None})

g = convolution.Geometry(32, 64, 3, 3, 2, 0, 7, 7, 3, 3)
for name, extra in (
    ("forward", {"STATS": False, "partial": None}),
    ("forward", {"STATS": True}),
    ("input_gradient", {}),
    ("weight_gradient", {}),
):
    tile = asdict(getattr(convolution, name + "_tile")(g, torch.bfloat16))
    options = {key: tile.pop(key) for key in ("num_warps", "num_stages")}
    kernel = getattr(convolution, name + "_kernel")
    compiled(kernel, {"partial": "*fp32"}, asdict(g) | tile | extra, "*bf16", **options)
"""


def test_all_kernels_compile() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
