import pytest
import torch

from noiselimit.cohort.device import block_data, find_device, to_device
from noiselimit.cohort.prepare import prepare_all
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.spec import grid

CPU = torch.device("cpu")


def test_every_row_sees_its_own_examples_standardised(tiny_images: DataSet) -> None:
    runs = prepare_all(grid(seed=[0, 1], noise="uniform:0.5"), tiny_images)
    data = block_data(runs, to_device(tiny_images.examples, CPU), None, None)
    inputs, labels = next(data.batches(data.train))
    assert inputs.shape == (2, len(runs[0].split.train), 1, 8, 8)
    for row, run in enumerate(runs):
        raw = tiny_images.examples.inputs[run.split.train].astype("float32")
        torch.testing.assert_close(inputs[row], torch.from_numpy((raw - run.mean) / run.std))
        assert labels[row].tolist() == run.examples.labels[run.split.train].tolist()
        assert abs(float(inputs[row].mean())) < 1e-5


def test_keeping_rows_keeps_their_data(tiny_images: DataSet) -> None:
    runs = prepare_all(grid(seed=[0, 1, 2], noise="uniform:0.5"), tiny_images)
    data = block_data(runs, to_device(tiny_images.examples, CPU), None, None)
    kept = data.keep([2, 0])
    for part in ("train", "validation", "test"):
        whole, less = getattr(data, part), getattr(kept, part)
        assert torch.equal(less.index, whole.index[[2, 0]])
        assert torch.equal(less.labels, whole.labels[[2, 0]])
    assert torch.equal(kept.mean, data.mean[[2, 0]])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_and_an_unknown_device_are_said() -> None:
    assert find_device("auto") == CPU
    with pytest.raises(InputError, match="torch sees no GPU here"):
        find_device("cuda")
    with pytest.raises(InputError, match="did you mean 'cuda'"):
        find_device("cudaa")
