"""The interpreter takes Python that the compiler refuses; compiling for a GPU needs none."""

import os
import subprocess
import sys

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from noiselimit.engine.kernels import adam, pictures, tally

def compiled(kernel, pointers, numbers):
    integers = dict.fromkeys(("count", "batch", "predictors"), "i32")
    types = {**pointers, **dict.fromkeys(numbers, "constexpr"), **integers}
    signature = {name: types.get(name, "*fp32") for name in kernel.arg_names}
    triton.compile(ASTSource(kernel, signature, numbers), target=GPUTarget("cuda", 90, 32))

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
"""


def test_the_small_kernels_compile() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
