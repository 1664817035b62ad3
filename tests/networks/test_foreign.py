"""Somebody else's networks: found, checked, started from their own weights and left with their own names."""

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.func import functional_call

from noiselimit.errors import InputError
from noiselimit.networks import Architecture, Role
from noiselimit.networks.dropout import Dropout, drops_units

Write = Callable[[str], str]

PAIR = """
class Net(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(shape[0], 8), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        z = self.body(x)
        return self.head(z), z
"""
LOGITS = "def make(shape, classes):\n    return nn.Sequential(nn.Linear(shape[0], classes))\n"


def test_a_pair_passes_as_it_is(theirs: Write) -> None:
    name = theirs(PAIR)
    architecture = Architecture(f"{name}:Net")
    architecture.check((5,), 3)
    module = architecture.build((5,), 3)
    logits, features = module(torch.randn(4, 5))
    assert logits.shape == (4, 3)
    assert torch.equal(module.head(features), logits)
    assert [n for n, _ in module.named_parameters()] == [
        "body.1.weight",
        "body.1.bias",
        "head.weight",
        "head.bias",
    ]


def test_logits_alone_are_their_own_features_and_names_get_no_prefix(theirs: Write) -> None:
    architecture = Architecture(f"{theirs(LOGITS)}.make")
    architecture.check((5,), 3)
    module = copy.deepcopy(architecture.build((5,), 3))
    state = architecture.initial_state((5,), 3, 0, Role.CLASSIFIER)
    assert list(state) == ["0.weight", "0.bias"]
    logits, features = functional_call(module, state, (torch.ones(4, 5),))
    assert logits.shape == (4, 3)
    assert torch.equal(logits, features)


def test_dropout_becomes_ours_with_keys_of_the_run(theirs: Write) -> None:
    architecture = Architecture(f"{theirs(PAIR)}:Net")
    module = architecture.build((5,), 3)
    assert isinstance(module.body[3], Dropout)
    assert module.body[3].share == 0.5
    assert drops_units(module)
    keys = {
        int(architecture.initial_state((5,), 3, seed, role)["body.3.key"]) for seed in (0, 1) for role in Role
    }
    assert len(keys) == 4


def test_a_dropout_used_in_two_places_is_replaced_in_both(theirs: Write) -> None:
    name = theirs(
        "def make(shape, classes):\n    drop, none = nn.Dropout(0.5), nn.Dropout(0.0)\n"
        "    first, second, last = nn.Linear(*shape, 9), nn.Linear(9, 9), nn.Linear(9, classes)\n"
        "    return nn.Sequential(first, drop, second, drop, none, last)\n"
    )
    architecture = Architecture(f"{name}:make")
    architecture.check((5,), 3)
    module = architecture.build((5,), 3)
    assert [i for i, layer in enumerate(module) if isinstance(layer, Dropout)] == [1, 3]
    assert not any(isinstance(layer, torch.nn.Dropout) for layer in module)


def test_weights_depend_on_seed_and_role_alone(theirs: Write) -> None:
    architecture = Architecture(f"{theirs(LOGITS)}:make")

    def weights(seed: int, role: Role) -> torch.Tensor:
        return architecture.initial_state((5,), 3, seed, role)["0.weight"]

    before = torch.get_rng_state()
    first = weights(0, Role.CLASSIFIER)
    assert torch.equal(before, torch.get_rng_state())
    torch.rand(1)
    assert torch.equal(first, weights(0, Role.CLASSIFIER))
    assert not torch.equal(first, weights(0, Role.PREDICTOR))
    assert not torch.equal(first, weights(1, Role.CLASSIFIER))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: weights(seed % 2, Role.CLASSIFIER), range(40)))
    assert all(torch.equal(found, together[seed % 2]) for seed, found in enumerate(together))
    assert torch.equal(together[0], first)


def test_what_other_threads_build_meanwhile_does_not_matter(theirs: Write) -> None:
    name = theirs(
        "import time\n\ndef make(shape, classes):\n    first = nn.Linear(*shape, 4)\n    time.sleep(0.05)\n"
        "    return nn.Sequential(first, nn.Linear(4, classes))\n"
    )
    architecture = Architecture(f"{name}:make")

    def weights(seed: int) -> torch.Tensor:
        return architecture.initial_state((5,), 3, seed, Role.CLASSIFIER)["1.weight"]

    alone = [weights(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(3) as pool:
        building = [pool.submit(weights, seed) for seed in (0, 1)]
        while not all(future.done() for future in building):
            pool.submit(Architecture("linear").build, (5,), 3).result()
    assert all(torch.equal(future.result(), own) for future, own in zip(building, alone, strict=True))


def test_weights_that_the_factory_chose_survive(theirs: Write) -> None:
    name = theirs(
        "def make(shape, classes):\n    layer = nn.Linear(shape[0], classes)\n"
        "    nn.init.constant_(layer.weight, 0.25)\n    return layer\n"
    )
    state = Architecture(f"{name}:make").initial_state((5,), 3, 0, Role.CLASSIFIER)
    assert (state["weight"] == 0.25).all()


def test_a_head_without_bias(theirs: Write) -> None:
    architecture = Architecture(f"{theirs(PAIR)}:Net", head_bias=False)
    architecture.check((5,), 3)
    state = architecture.initial_state((5,), 3, 0, Role.CLASSIFIER)
    assert "head.bias" not in state
    logits, features = architecture.build((5,), 3)(torch.zeros(2, 5))
    assert not torch.equal(features, logits)


@pytest.mark.parametrize(
    "text",
    [LOGITS, PAIR.replace("self.head", "self.last"), PAIR.replace("self.head(z), z", "self.head(z) + 1, z")],
)
def test_a_head_that_cannot_lose_its_bias_is_refused(theirs: Write, text: str) -> None:
    name = theirs(text)
    factory = "make" if "make" in text else "Net"
    Architecture(f"{name}:{factory}").check((5,), 3)
    with pytest.raises(InputError, match=r"return \(logits, features\) from it and make its last layer"):
        Architecture(f"{name}:{factory}", head_bias=False).check((5,), 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 3", "returns int: return a torch.nn.Module from it"),
        ("return nn.Linear(7, classes)", "fails on inputs of shape [5] (RuntimeError: mat1 and mat2"),
        (
            "return nn.Linear(5, 2)",
            "gives [2, 2] for a batch of 2 inputs: return logits [2, 3] or (logits, f",
        ),
        ("return nn.Sequential(nn.Linear(5, 3), nn.Flatten(0))", "gives [6] for a batch of 2 inputs"),
        ("return nn.LSTM(5, 3)", "gives [2, 3], tuple for a batch"),
        ("return nn.LazyLinear(classes)", "has no shape yet for 'weight'"),
        ("return nn.Flatten()", "has no parameter that learns"),
        (
            "layer = nn.Linear(5, 5); return nn.Sequential(layer, layer, nn.Linear(5, 3))",
            "one tensor under two",
        ),
        (
            "return nn.Sequential(nn.Linear(5, 3), nn.Dropout1d())",
            "has a Dropout1d, which draws from torch's",
        ),
        ("return nn.Sequential(nn.Linear(5, 3), nn.Dropout(1.0))", "dropout is 1: give a number"),
        ("raise ValueError('too small')", "fails when called with ((5,), 3): ValueError: too small."),
        ("raise SystemExit(4)", "fails when called with ((5,), 3): SystemExit: 4."),
        ("return torch.jit.script(nn.Linear(5, 3))", "is compiled by torch.jit, or a part of it is: return"),
        (
            "return nn.Sequential(nn.Flatten(), torch.jit.trace(nn.Linear(5, 3), torch.zeros(2, 5)))",
            "is compiled by torch.jit",
        ),
        ("return make()", "fails when called with ((5,), 3): TypeError: make() missing 2 required"),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules", "ignore:.torch.jit")
def test_what_is_wrong_is_said_in_one_sentence(theirs: Write, body: str, message: str) -> None:
    name = theirs(f"def make(shape, classes):\n    {body}\n")
    with pytest.raises(InputError) as caught:
        Architecture(f"{name}:make").check((5,), 3)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
