"""Somebody else's networks in training: what they give, draw and change there is known before it begins."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.cli.main import run
from noiselimit.data.examples import DataSet
from noiselimit.networks import Architecture
from noiselimit.networks.module import check_network, foreign_network

Write = Callable[[str], str]

NET = """
class Net(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
        self.register_buffer("m", torch.zeros(8))
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        z = self.body(x)
        if self.training:
            {}
        return {}
"""


def complaint(path: str) -> str:
    """The complaint about the network at this path."""
    with pytest.raises(InputError) as caught:
        Architecture(path).check((5,), 3)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("in_training", "returned", "message"),
    [
        (
            "raise ValueError('no')",
            "self.head(z), z",
            "fails on inputs of shape [5] in training (ValueError",
        ),
        ("raise SystemExit", "self.head(z)", "fails on inputs of shape [5] in training (SystemExit)"),
        (
            "return (self.head(z),) * 3",
            "self.head(z)",
            "gives [2, 3], [2, 3], [2, 3] for a batch of 2 inputs",
        ),
        (
            "return self.head(z), None",
            "self.head(z)",
            "gives [2, 3], NoneType for a batch of 2 inputs in tr",
        ),
        ("return {'logits': z}", "self.head(z)", "gives dict for a batch of 2 inputs in training: return"),
        (
            "return self.head(z), self.head(z)",
            "self.head(z)",
            "gives [2, 3], [2, 3] in training, but [2, 3] in evaluation: return the same",
        ),
        (
            "return self.head(z), self.head(z)",
            "self.head(z), z",
            "gives [2, 3], [2, 3] in training, but [2, 3], [2, 8] in evaluation",
        ),
        (
            "self.m = 0.9 * self.m + z.mean(0)",
            "self.head(z)",
            "a new tensor in the place of its buffer 'm'",
        ),
    ],
)
def test_what_only_training_shows(theirs: Write, in_training: str, returned: str, message: str) -> None:
    assert message in complaint(f"{theirs(NET.format(in_training, returned))}:Net")


@pytest.mark.parametrize(
    "in_training",
    [
        "nn.functional.batch_norm(z.reshape(-1, 16), None, None, training=True)",  # one value for two inputs
        "torch.linalg.cholesky(x.T @ x)",  # singular if all inputs are equal
    ],
)
def test_what_two_blank_inputs_are_too_few_for_may_pass(theirs: Write, in_training: str) -> None:
    Architecture(f"{theirs(NET.format(in_training, 'self.head(z), z'))}:Net").check((5,), 3)


def test_asking_leaves_no_trace(theirs: Write) -> None:
    path = f"{theirs(NET.format('self.m.copy_(torch.rand(8))', 'self.head(z), z'))}:Net"
    network = foreign_network(path, (5,), 3, seed=0)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    drawn = torch.get_rng_state()
    check_network(path, network, (5,), 3, head_bias=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert torch.equal(drawn, torch.get_rng_state())


def test_a_buffer_that_is_changed_in_place_is_trained_and_saved(
    theirs: Write, blobs: DataSet, tmp_path: Path
) -> None:
    keep = "self.m.copy_(0.9 * self.m + 0.1 * x.detach().square().mean())"
    path = f"{theirs(NET.format(keep, 'self.head(z), z'))}:Net"
    specs = [RunSpec("ce", network=path, epochs=1, batch_size=16, seed=seed) for seed in (0, 1)]
    folders = [run.path for run in train(specs, blobs, out=tmp_path / "runs")]
    saved = [load_run(folder).weights.classifier["m"] for folder in folders if folder is not None]
    assert all((m > 0.1).all() for m in saved)
    assert not torch.equal(*saved)
    assert torch.equal(train(specs[1], blobs)[0].weights.classifier["m"], saved[1])


@pytest.mark.parametrize(
    ("layer", "remedy"),
    [
        ("nn.LSTM(5, 4, num_layers=2, dropout=0.3)", "set its dropout to 0"),
        ("nn.MultiheadAttention(5, 1, dropout=0.5)", "set its dropout to 0"),
        ("nn.TransformerEncoderLayer(5, 1)", "set its dropout to 0"),
        ("nn.RReLU()", "use another layer"),
        ("nn.FractionalMaxPool2d(2, 3)", "use another layer"),
    ],
)
def test_layers_that_draw_from_torchs_generator_are_refused(theirs: Write, layer: str, remedy: str) -> None:
    name = theirs(f"def make(shape, classes): return nn.Sequential(nn.Linear(5, 3), {layer})")
    said = complaint(f"{name}:make")
    assert "that draws from torch's generator" in said
    assert remedy in said


@pytest.mark.parametrize("layer", ["nn.LSTM(8, 4, num_layers=2)", "nn.MultiheadAttention(8, 1)", "nn.ReLU()"])
def test_layers_that_do_not_are_taken(theirs: Write, layer: str) -> None:
    more = f"self.dropout = 0.5; self.layer = {layer}"  # a number by that name may serve an nn.Dropout
    text = NET.format("pass", "self.head(z), z").replace("self.head = ", f"{more}; self.head = ")
    Architecture(f"{theirs(text)}:Net").check((5,), 3)


def test_two_spellings_are_one_run(theirs: Write, blobs: DataSet) -> None:
    name = theirs(NET.format("pass", "self.head(z), z"))
    specs = [RunSpec("ce", network=f"{name}{sign}Net", epochs=1, batch_size=64) for sign in ":."]
    first, second = train(specs, blobs)
    assert first is second


def test_code_that_exits_in_the_middle_is_named_on_the_command_line(
    theirs: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not taken for a reader of the output that went away, which ends a command in silence."""
    name = theirs(NET.format("x.any() and exit(7)", "self.head(z), z").replace("nn.Linear(5", "nn.Linear(64"))
    name = theirs(f"from {name} import Net\n\ndef make(s, c): return nn.Sequential(nn.Flatten(), Net(s, c))")
    options = ["--method", "ce", "--epochs", "1", "--train-size", "20", "--quiet"]
    assert run(["train", "--data", "digits", "--network", f"{name}:make", *options]) == 2
    assert "ended the program (SystemExit: 7): repair it first." in capsys.readouterr().err


UNSAVED = """
class Net(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.head = nn.Linear(shape[0], classes)
        self.register_buffer("tmp", torch.zeros(shape[0]), persistent=False)

    def forward(self, x):
        if self.training:
            self.tmp.add_(1)
        return self.head(x - self.tmp)
"""


def test_a_buffer_that_training_changes_must_be_saved(theirs: Write) -> None:
    message = "changes its buffer 'tmp' in training, which is not in its state dict"
    assert message in complaint(f"{theirs(UNSAVED)}:Net")
