"""Without a GPU, kernels run in Triton's interpreter (see tests/conftest.py), which is patched here."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Never

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

WITHOUT_TRITON = "triton is not installed, so no kernel is tested"


def _patch_loops() -> None:
    """Allow loops up to a run-time number, for which Triton 3.6 needs NumPy < 2.4."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """bfloat16 bits → float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrowed(numbers: NDArray[np.float32]) -> NDArray[np.uint16]:
    """float32 → bfloat16 bits, rounded to nearest even as on a GPU."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), np.uint32(0x7FC0), nearest).astype(np.uint16)


def _patch_bfloat16() -> None:
    """Fix bfloat16: the interpreter multiplies raw bits as integers, and truncates instead of rounding."""
    from triton import language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    plain_dot, plain_cast = InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl

    def wide(factor: Any) -> Any:
        if factor.dtype.scalar != tl.bfloat16:
            return factor
        return TensorHandle(widened(factor.data), tl.float32)

    def create_dot(self: Any, a: Any, b: Any, *others: Any) -> Any:
        return plain_dot(self, wide(a), wide(b), *others)

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        if (source.dtype.scalar, target.scalar) != (tl.float32, tl.bfloat16):
            return plain_cast(self, source, target)
        return TensorHandle(narrowed(source.data), tl.bfloat16)

    InterpreterBuilder.create_dot, InterpreterBuilder.cast_impl = create_dot, cast_impl


class _Skipped(pytest.Module):
    """A test file that is skipped because it cannot be imported."""

    def collect(self) -> Never:
        pytest.skip(WITHOUT_TRITON, allow_module_level=True)


if find_spec("triton") is None:

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        return _Skipped.from_parent(parent, path=module_path)

elif not torch.cuda.is_available():
    _patch_loops()
    _patch_bfloat16()


@pytest.fixture(scope="session")
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
