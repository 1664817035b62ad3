"""The interpreter takes Python that the compiler refuses; compiling for a GPU needs none."""

import os
import subprocess
import sys

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from noiselimit.kernels import adam, pictures

def compiled(kernel, pointers, numbers):
    types = {**pointers, **dict.fromkeys(numbers, "constexpr"), "count": "i32", "batch": "i32"}
    signature = {name: types.get(name, "*fp32") for name in kernel.arg_names}
    triton.compile(ASTSource(kernel, signature, numbers), target=GPUTarget("cuda", 90, 32))

compiled(adam._adam, {}, {"block": 1024})
sizes = {"channels": 3, "height": 32, "width": 32, "padding": 4, "block": 1024}
pointers = {"pictures": "*u8", "index": "*i64", "out": "*bf16", "flip": "*i1"}
compiled(pictures._make, pointers, sizes)
compiled(pictures._make, pointers, {**sizes, "flip": None, "down": None, "across": None})
"""


def test_the_small_kernels_compile() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
