import pytest
import torch

from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError

CPU = torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_and_an_unknown_device_are_said() -> None:
    assert find_device("auto") == CPU
    with pytest.raises(InputError, match="no GPU"):
        find_device("cuda")
    with pytest.raises(InputError, match="did you mean 'cuda'"):
        find_device("cudaa")
