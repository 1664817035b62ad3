import pytest
import torch

from noiselimit.engine.backend import Backend, find_backend, find_device
from noiselimit.errors import InputError

CPU = torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu() -> None:
    assert find_device("auto") == CPU
    assert find_backend("auto", "auto", CPU) == Backend()
    for name in ("cuda", "cuda:1", "cudaa"):
        with pytest.raises(InputError, match="device"):
            find_device(name)
    for settings in (("on", "auto"), ("auto", "on"), ("of", "auto")):
        with pytest.raises(InputError, match=r"kernels|graphs"):
            find_backend(*settings, CPU)
