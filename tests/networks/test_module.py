"""A user's own networks: found by dotted path, checked before training, with their own weights and names."""

import copy
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch.func import functional_call

from noiselimit import InputError, RunSpec, load_run, train
from noiselimit.data.examples import DataSet
from noiselimit.dotted import canonical, is_dotted, load
from noiselimit.networks import Architecture, Role, check_name
from noiselimit.networks.module import build_network, check_network
from noiselimit.networks.network import Dropout

Write = Callable[[str], str]

NET = """
class Net(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(shape[0], 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
        self.register_buffer("m", torch.zeros(8))
        self.register_buffer("unsaved", torch.zeros(8), persistent=False)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        z = self.body(x)
        if self.training:
            {}
        return {}
"""
PAIR = NET.format("pass", "self.head(z), z")
LOGITS = "def make(shape, classes):\n    return nn.Sequential(nn.Linear(shape[0], classes))\n"


def refusal(path: str, *, head_bias: bool = True) -> str:
    with pytest.raises(InputError) as caught:
        Architecture(path, head_bias=head_bias).check((5,), 3)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "one"),
    [("a.b", "a:b"), ("a.b.c", "a.b:c"), ("a:b.c", "a:b.c"), ("ü.b:c", "ü.b:c")],
)
def test_both_spellings_make_one_run(name: str, one: str) -> None:
    check_name(name)
    assert canonical(name) == one
    bound = {"data": "0", "precision": "float32"}
    spec = RunSpec(network=name, predictor_network=name, predictor_features="a.b", **bound)
    same = RunSpec(network=one, predictor_network=one, predictor_features="a:b", **bound)
    assert (spec, spec.hash) == (same, same.hash)


@pytest.mark.parametrize("name", ["", "a", "a.", ":b", "a:", "a:b:c", "a b.c", "./a.py:b", None, []])
def test_what_is_no_dotted_path(name: object) -> None:
    assert not is_dotted(name)
    with pytest.raises(InputError, match=r"package\.module:factory"):
        check_name(name)


def test_load_searches_the_working_folder_last(write_module: Write) -> None:
    name = write_module("class Box:\n    @staticmethod\n    def make(): return 7\n\ndef make(): return 8\n")
    assert load("network", f"{name}:make")() == load("network", f"{name}.make")() == 8
    assert load("network", f"{name}:Box.make")() == 7
    assert sys.path[-1] == str(Path.cwd())


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("", "nowhere_at_all:make", "No module named 'nowhere_at_all'"),
        ("", "{}:make", "has no attribute 'make'"),
        ("import nowhere_at_all", "{}:make", "ModuleNotFoundError"),
        ("raise RuntimeError('two\\nlines')", "{}:make", "(RuntimeError: two)"),
        ("raise SystemExit", "{}:make", "SystemExit"),
    ],
)
def test_paths_that_cannot_be_loaded(write_module: Write, text: str, path: str, word: str) -> None:
    path = path.format(write_module(text + "\n"))
    with pytest.raises(InputError) as caught:
        load("network", path)
    assert path in str(caught.value)
    assert word in str(caught.value)


def test_logits_alone_are_the_features_too(write_module: Write) -> None:
    architecture = Architecture(f"{write_module(LOGITS)}.make")
    architecture.check((5,), 3)
    module = copy.deepcopy(architecture.build((5,), 3))
    state = architecture.initial_state((5,), 3, 0, Role.CLASSIFIER)
    assert list(state) == ["0.weight", "0.bias"]
    logits, features = functional_call(module, state, (torch.ones(4, 5),))
    assert logits.shape == (4, 3)
    assert torch.equal(logits, features)


def test_dropout_is_replaced_wherever_it_is_used(write_module: Write) -> None:
    name = write_module(
        "def make(shape, classes):\n    drop, none = nn.Dropout(0.5), nn.Dropout(0.0)\n"
        "    first, last = nn.Linear(*shape, 9), nn.Linear(9, classes)\n"
        "    return nn.Sequential(first, drop, nn.Linear(9, 9), drop, none, last)\n"
    )
    architecture = Architecture(f"{name}:make")
    architecture.check((5,), 3)
    module = architecture.build((5,), 3)
    assert [i for i, layer in enumerate(module) if isinstance(layer, Dropout)] == [1, 3]
    assert [layer.p for layer in (module[1], module[4])] == [0.5, 0.0]  # attention layers read it
    states = [architecture.initial_state((5,), 3, seed, role) for seed in (0, 1) for role in Role]
    assert len({int(state[key]) for state in states for key in ("1.key", "3.key")}) == 8


def test_weights_depend_on_seed_and_role_only_even_with_threads(write_module: Write) -> None:
    name = write_module(
        "import time\n\ndef make(shape, classes):\n    first = nn.Linear(*shape, 4)\n    time.sleep(0.01)\n"
        "    return nn.Sequential(first, nn.Linear(4, classes))\n"
    )
    architecture = Architecture(f"{name}:make")

    def weights(seed: int, role: Role = Role.CLASSIFIER) -> torch.Tensor:
        return architecture.initial_state((5,), 3, seed, role)["1.weight"]

    generator = torch.get_rng_state()
    alone = [weights(seed) for seed in (0, 1)]
    assert torch.equal(generator, torch.get_rng_state())
    assert not torch.equal(*alone)
    assert not torch.equal(alone[0], weights(0, Role.PREDICTOR))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda number: weights(number % 2), range(12)))
    assert all(torch.equal(found, alone[number % 2]) for number, found in enumerate(together))


@pytest.mark.parametrize("head_bias", [True, False])
def test_a_network_keeps_its_names_and_loses_its_heads_bias(write_module: Write, head_bias: bool) -> None:
    architecture = Architecture(f"{write_module(PAIR)}:Net", head_bias=head_bias)
    architecture.check((5,), 3)
    names = architecture.initial_state((5,), 3, 0, Role.CLASSIFIER).keys()
    assert names >= {"body.0.weight", "head.weight"}
    assert ("head.bias" in names) == head_bias


@pytest.mark.parametrize(
    "text",
    [LOGITS, PAIR.replace("self.head", "self.last"), PAIR.replace("self.head(z), z", "self.head(z) + 1, z")],
)
def test_a_head_that_cannot_lose_its_bias_is_refused(write_module: Write, text: str) -> None:
    path = f"{write_module(text)}:{'make' if 'make' in text else 'Net'}"
    Architecture(path).check((5,), 3)
    assert "'head' or 'fc'" in refusal(path, head_bias=False)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("return 3", "int"),
        ("return nn.Linear(7, classes)", "mat1 and mat2"),
        ("return nn.Linear(5, 2)", "[4, 2]"),
        ("net = nn.Linear(5, 3); net.register_forward_hook(lambda *_: {'y': 1}); return net", "dict"),
        ("return nn.Sequential(nn.Linear(5, 3), nn.Flatten(0))", "[12]"),
        ("return nn.LazyLinear(classes)", "lazy"),
        ("return nn.Flatten()", "requires_grad"),
        ("layer = nn.Linear(5, 5); return nn.Sequential(layer, layer, nn.Linear(5, 3))", "'1.weight'"),
        ("return nn.Sequential(nn.Linear(5, 3), nn.Dropout(1.0))", "dropout"),
        ("raise ValueError('too small')", "ValueError: too small"),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_bad_networks_are_refused(write_module: Write, body: str, word: str) -> None:
    assert word in refusal(write_module(f"def make(shape, classes):\n    {body}\n") + ":make")


@pytest.mark.parametrize(
    ("in_training", "word"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("return self.head(z), self.head(z)", "in evaluation"),
        ("self.m = 0.9 * self.m + z.mean(0)", "buffer 'm'"),
        ("self.unsaved.add_(1)", "persistent=True"),
    ],
)
def test_what_only_training_shows_is_refused(write_module: Write, in_training: str, word: str) -> None:
    assert word in refusal(f"{write_module(NET.format(in_training, 'self.head(z), z'))}:Net")


def test_checking_leaves_no_trace(write_module: Write) -> None:
    path = f"{write_module(NET.format('self.m.copy_(torch.rand(8))', 'self.head(z), z'))}:Net"
    network = build_network(path, (5,), 3, seed=0)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    generator = torch.get_rng_state()
    check_network(path, network, (5,), 3, head_bias=True)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())
    assert torch.equal(generator, torch.get_rng_state())


def test_a_buffer_changed_in_place_is_trained_and_saved(
    write_module: Write, blobs: DataSet, tmp_path: Path
) -> None:
    update = "self.m.copy_(0.9 * self.m + 0.1 * x.detach().square().mean())"
    path = f"{write_module(NET.format(update, 'self.head(z), z'))}:Net"
    specs = [RunSpec("ce", network=path, epochs=1, batch_size=16, seed=seed) for seed in (0, 1)]
    folders = [run.path for run in train(specs, blobs, out=tmp_path / "runs")]
    saved = [load_run(folder).weights.classifier["m"] for folder in folders if folder is not None]
    assert all((m > 0.1).all() for m in saved)
    assert not torch.equal(*saved)
    assert torch.equal(train(specs[1], blobs)[0].weights.classifier["m"], saved[1])
