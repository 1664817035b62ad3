"""Frozen features: they neither learn nor leave evaluation mode, and the network sees nothing but them."""

from collections.abc import Callable

import pytest
import torch

from noiselimit.errors import InputError
from noiselimit.networks import Architecture, Role
from noiselimit.networks.dropout import without_draws
from noiselimit.networks.initial import initial_state

Write = Callable[[str], str]

FEATURES = """
def make(shape):
    return nn.Sequential(
        nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.MaxPool2d(3)
    )
"""


@pytest.fixture
def path(theirs: Write) -> str:
    return f"{theirs(FEATURES)}:make"


def test_only_the_network_learns(path: str) -> None:
    architecture = Architecture("linear", features=path)
    architecture.check((1, 8, 8), 3)
    module = architecture.build((1, 8, 8), 3)
    learned = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    assert learned == ["network.head.weight", "network.head.bias"]
    logits, features = module(torch.randn(5, 1, 8, 8))
    assert (logits.shape, features.shape) == ((5, 3), (5, 16))
    logits.sum().backward()
    assert all((p.grad is not None) == p.requires_grad for p in module.parameters())


def test_features_stay_in_evaluation_mode(path: str) -> None:
    module = Architecture("mlp", features=path).build((1, 8, 8), 3).train()
    inputs = torch.randn(5, 1, 8, 8)
    statistics = {name: buffer.clone() for name, buffer in module.named_buffers()}
    assert torch.equal(module.features(inputs), module.features(inputs))
    module(inputs)
    moved = {name for name, buffer in module.named_buffers() if not torch.equal(buffer, statistics[name])}
    assert moved
    assert all(name.startswith("network.") for name in moved)
    assert module.network.training


def test_the_state_is_the_features_own_and_our_draws(path: str) -> None:
    architecture = Architecture("mlp", dropout=0.5, features=path)
    state = architecture.initial_state((1, 8, 8), 3, 4, Role.PREDICTOR)
    module = architecture.build((1, 8, 8), 3)
    module.load_state_dict(state)
    drawn = initial_state(module.network, 4, Role.PREDICTOR)
    network = {name.removeprefix("network."): t for name, t in state.items() if name.startswith("network.")}
    assert network.keys() == drawn.keys()
    assert all(torch.equal(network[name], tensor) for name, tensor in drawn.items())
    assert {name.partition(".")[0] for name in without_draws(state)} == {"features", "network"}
    again = architecture.initial_state((1, 8, 8), 3, 4, Role.PREDICTOR)
    assert all(torch.equal(again[name], tensor) for name, tensor in state.items())


def test_ones_own_network_on_ones_own_features_without_bias(theirs: Write, path: str) -> None:
    name = theirs(
        "class Net(nn.Module):\n    def __init__(self, shape, classes):\n        super().__init__()\n"
        "        self.fc = nn.Linear(*shape, classes)\n\n"
        "    def forward(self, x):\n        return self.fc(x), x\n"
    )
    architecture = Architecture(f"{name}:Net", head_bias=False, features=path)
    architecture.check((1, 8, 8), 3)
    state = architecture.initial_state((1, 8, 8), 3, 0, Role.CLASSIFIER)
    assert [key for key in state if key.startswith("network.")] == ["network.fc.weight"]
    assert state["network.fc.weight"].shape == (3, 16)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 3", "features '{}' returns int"),
        ("return nn.Linear(3, 3)", "features '{}' fails on inputs of shape [1, 8, 8] (RuntimeError"),
        ("return nn.Flatten(0)", "features '{}' give [128] for a batch of 2 inputs"),
        ("return nn.Sequential(nn.Flatten(), nn.LSTM(64, 3))", "features '{}' give tuple for a batch"),
        (
            "one = nn.Linear(8, 8); return nn.Sequential(one, nn.ReLU(), one)",
            "features '{}' has one tensor under two names, '0.weight' and '2.weight': give each place",
        ),
        (
            "one = nn.BatchNorm2d(1, affine=False); return nn.Sequential(one, one)",
            "one tensor under two names, '0.running_mean'",
        ),
        ("return nn.LazyLinear(4)", "features '{}' has no shape yet for 'weight': use layers that are not"),
        ("return nn.FractionalMaxPool2d(2, 3)", "features '{}' pool at places drawn from torch's generator"),
        ("raise SystemExit(3)", "features '{}' fails when called with ((1, 8, 8)): SystemExit: 3."),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_bad_features_are_refused(theirs: Write, body: str, message: str) -> None:
    path = f"{theirs(f'def make(shape):{chr(10)}    {body}{chr(10)}')}:make"
    with pytest.raises(InputError) as caught:
        Architecture("linear", features=path).check((1, 8, 8), 3)
    assert message.format(path) in str(caught.value)


def test_features_are_vectors_to_the_network(path: str) -> None:
    with pytest.raises(InputError, match="takes images, but the inputs are vectors of 16 features"):
        Architecture("small-cnn", features=path).check((1, 8, 8), 3)


def test_layers_that_draw_in_training_alone_are_at_rest_in_features(theirs: Write) -> None:
    path = f"{theirs('def make(shape): return nn.Sequential(nn.RReLU(), nn.Dropout2d())')}:make"
    architecture = Architecture("linear", features=path)
    architecture.check((1, 8, 8), 3)
    module = architecture.build((1, 8, 8), 3).train()
    inputs = torch.randn(5, 1, 8, 8)
    assert torch.equal(module(inputs)[0], module(inputs)[0])


def test_compiled_features_will_do(theirs: Write) -> None:
    name = theirs("def make(shape): return torch.jit.trace(nn.Conv2d(1, 2, 3), torch.zeros(2, *shape))")
    Architecture("linear", features=f"{name}:make").check((1, 8, 8), 3)
