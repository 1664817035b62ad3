"""Without a GPU the kernels run in Triton's interpreter, which tests/conftest.py chooses."""

from importlib.util import find_spec
from typing import Any

import pytest
import torch


def _mend_interpreter() -> None:
    """Loops may end at a number known at run time; the interpreter of Triton 3.6 asks NumPy < 2.4 for it."""
    from triton.runtime import interpreter

    original = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        original(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


if find_spec("triton") is None:
    collect_ignore_glob = ["test_*.py"]
elif not torch.cuda.is_available():
    _mend_interpreter()


@pytest.fixture(scope="session")
def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
