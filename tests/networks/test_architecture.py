"""What every network must keep, initial weights, and frozen features."""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import nn

from noiselimit.errors import InputError
from noiselimit.networks import (
    NETWORKS,
    Architecture,
    Network,
    Role,
    check_name,
    fitting_network,
)
from noiselimit.networks.architecture import initial_state
from noiselimit.networks.network import Dropout, head_of, without_draws

Write = Callable[[str], str]
SHAPES = [(1, 8, 8), (1, 28, 28), (3, 32, 30), (6,)]


def fits(network: Network, shape: tuple[int, ...]) -> bool:
    try:
        network.check(shape)
    except InputError:
        return False
    return True


def smallest(network: Network) -> tuple[int, ...]:
    return next(shape for shape in [*SHAPES, (3, 32, 32)] if fits(network, shape))


@pytest.fixture(params=sorted(NETWORKS))
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in sorted(NETWORKS) for shape in SHAPES if fits(NETWORKS[name], shape)],
)
def test_returns_logits_and_the_inputs_of_the_last_layer(name: str, shape: tuple[int, ...]) -> None:
    module = NETWORKS[name].build(shape, 5).eval()
    logits, features = module(torch.randn(2, *shape))
    assert logits.shape == (2, 5)
    assert features.dim() == 2
    head = head_of(module)
    torch.testing.assert_close(features @ head.weight.T + head.bias, logits)


def test_no_bias_before_batch_norm(network: Network) -> None:
    layers = [layer for layer in network.build(smallest(network), 3).modules() if not list(layer.children())]
    for before, after in pairwise(layers):
        if isinstance(after, nn.BatchNorm1d | nn.BatchNorm2d):
            assert before.bias is None


def test_the_gradient_reaches_every_parameter(network: Network) -> None:
    shape = smallest(network)
    architecture = Architecture(network.name)
    module = architecture.build(shape, 3)
    module.load_state_dict(architecture.initial_state(shape, 3, 0, Role.CLASSIFIER))
    logits, _ = module(torch.randn(6, *shape, generator=torch.Generator().manual_seed(0)))
    logits.square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in module.parameters())


def test_head_bias_changes_nothing_else(network: Network) -> None:
    shape = smallest(network)
    usual, bare = (Architecture(network.name, head_bias=bias) for bias in (True, False))
    bare.check(shape, 3)
    with_bias = usual.initial_state(shape, 3, 1, Role.CLASSIFIER)
    without = bare.initial_state(shape, 3, 1, Role.CLASSIFIER)
    assert with_bias.keys() - without.keys() in ({"head.bias"}, {"fc.bias"})
    assert all(torch.equal(with_bias[name], tensor) for name, tensor in without.items())


def test_dropout_changes_nothing_else(network: Network) -> None:
    shape = smallest(network)
    dropping = Architecture(network.name, dropout=0.5)
    module = dropping.build(shape, 3)
    assert any(isinstance(layer, Dropout) for layer in module.modules())
    state = dropping.initial_state(shape, 3, 2, Role.PREDICTOR)
    plain = Architecture(network.name).initial_state(shape, 3, 2, Role.PREDICTOR)
    left = without_draws(state)
    assert list(left) == list(plain)
    assert all(torch.equal(left[name], tensor) for name, tensor in plain.items())

    inputs = torch.randn(6, *shape, generator=torch.Generator().manual_seed(0))
    module.load_state_dict(state)
    _, features = module.train()(inputs)
    assert 0.2 < float((features == 0).float().mean()) < 0.9
    undropped = Architecture(network.name).build(shape, 3)
    undropped.load_state_dict(plain)
    module.load_state_dict(state)  # training has moved the batch-norm statistics
    assert torch.equal(module.eval()(inputs)[0], undropped.eval()(inputs)[0])


@pytest.mark.parametrize(
    ("name", "shape", "weights"),
    [
        ("mnist-cnn", (1, 28, 28), (-0.04152031987905502, 0.005592423491179943)),
        ("small-cnn", (1, 8, 8), (0.05435200035572052, 0.05423339083790779)),
        ("mlp", (6,), (0.031700119376182556, -0.010298648849129677)),
        ("mlp-4x512", (6,), (-0.012441230937838554, -0.0037185754626989365)),
    ],
)
def test_initial_weights_stay_the_same(name: str, shape: tuple[int, ...], weights: tuple[float, ...]) -> None:
    """The first weights of the head, which is drawn last."""
    state = Architecture(name).initial_state(shape, 5, 7, Role.PREDICTOR)
    assert state["head.weight"][0, :2].tolist() == pytest.approx(weights, rel=1e-6)


def test_initial_weights_depend_on_seed_and_role_only() -> None:
    def draw(seed: int, role: Role) -> dict[str, torch.Tensor]:
        return initial_state(NETWORKS["small-cnn"].build((1, 8, 8), 10), seed, role)

    first = draw(0, Role.CLASSIFIER)
    torch.manual_seed(99)
    again = draw(0, Role.CLASSIFIER)
    assert all(torch.equal(first[name], again[name]) for name in first)
    drawn = [first, draw(1, Role.CLASSIFIER), draw(0, Role.PREDICTOR)]
    weights = [tensor for state in drawn for name, tensor in state.items() if tensor.dim() > 1]
    starts = {tuple((weight.flatten()[:8] / weight.abs().max()).tolist()) for weight in weights}
    assert len(starts) == len(weights) == 15  # no two tensors share their draws


def test_the_mnist_network_is_the_papers() -> None:
    """Counted from tab:mnist-classifier: convolutions without bias, two parameters per batch-norm channel."""
    convolutions = 32 * 16 + 32 * 32 * 16 + 64 * 32 * 9 + 256 * 64 * 9
    norms = 2 * (32 + 32 + 64 + 256)
    dense = 256 * 128 + 128 + 128 * 10 + 10
    module = NETWORKS["mnist-cnn"].build((1, 28, 28), 10)
    assert sum(parameter.numel() for parameter in module.parameters()) == convolutions + norms + dense


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_auto_always_fits(shape: tuple[int, ...]) -> None:
    NETWORKS[fitting_network(shape)].check(shape)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="'mnist-cnn'"):
        check_name("mnist_cnn")


@pytest.mark.parametrize(
    ("architecture", "shape", "word"),
    [
        (Architecture("small-cnn"), (6,), "'mlp'"),
        (Architecture("mnist-cnn"), (1, 8, 8), "28 × 28"),
        (Architecture("a.b:c", dropout=0.5), (6,), "nn.Dropout"),
    ],
)
def test_what_does_not_fit_is_refused(architecture: Architecture, shape: tuple[int, ...], word: str) -> None:
    with pytest.raises(InputError, match=word):
        architecture.check(shape, 3)


def test_naming_code_does_not_run_it(tmp_path: Path) -> None:
    """Neither a spec nor an Architecture imports the dotted path that it names; checking does."""
    (tmp_path / "trap.py").write_text("print('ran', flush=True)\nraise KeyboardInterrupt\n")
    script = (
        "import noiselimit.runs.spec\nfrom noiselimit.networks import Architecture\n"
        "it = Architecture('trap:make', features='trap:make')\n"
        "print('named', flush=True)\nit.check((3,), 2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.stdout == "named\nran\n"


@pytest.fixture
def features(write_module: Write) -> str:
    layers = "nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.MaxPool2d(3)"
    return write_module(f"def make(shape): return nn.Sequential({layers})") + ":make"


def test_only_the_network_on_frozen_features_learns(features: str) -> None:
    architecture = Architecture("linear", features=features)
    architecture.check((1, 8, 8), 3)
    module = architecture.build((1, 8, 8), 3)
    learned = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    assert learned == ["network.head.weight", "network.head.bias"]
    logits, seen = module(torch.randn(5, 1, 8, 8))
    assert (logits.shape, seen.shape) == ((5, 3), (5, 16))
    logits.sum().backward()
    assert all((p.grad is not None) == p.requires_grad for p in module.parameters())


def test_frozen_features_stay_in_evaluation_mode(features: str) -> None:
    module = Architecture("mlp", features=features).build((1, 8, 8), 3).train()
    inputs = torch.randn(5, 1, 8, 8)
    statistics = {name: buffer.clone() for name, buffer in module.named_buffers()}
    assert torch.equal(module.features(inputs), module.features(inputs))
    module(inputs)
    moved = {name for name, buffer in module.named_buffers() if not torch.equal(buffer, statistics[name])}
    assert moved
    assert all(name.startswith("network.") for name in moved)


def test_the_state_has_the_features_weights_and_ours(features: str) -> None:
    architecture = Architecture("mlp", dropout=0.5, features=features)
    state = architecture.initial_state((1, 8, 8), 3, 4, Role.PREDICTOR)
    module = architecture.build((1, 8, 8), 3)
    module.load_state_dict(state)
    drawn = initial_state(module.network, 4, Role.PREDICTOR)
    assert all(torch.equal(state[f"network.{name}"], tensor) for name, tensor in drawn.items())
    assert {name.partition(".")[0] for name in without_draws(state)} == {"features", "network"}
    again = architecture.initial_state((1, 8, 8), 3, 4, Role.PREDICTOR)
    assert all(torch.equal(again[name], tensor) for name, tensor in state.items())


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("return 3", "int"),
        ("return nn.Linear(3, 3)", "RuntimeError"),
        ("return nn.Flatten(0)", "[256]"),
        ("return nn.Sequential(nn.Flatten(), nn.LSTM(64, 3))", "tuple"),
        ("one = nn.Linear(8, 8); return nn.Sequential(one, nn.ReLU(), one)", "'2.weight'"),
    ],
)
def test_bad_features_are_refused(write_module: Write, body: str, word: str) -> None:
    path = write_module(f"def make(shape):\n    {body}\n") + ":make"
    with pytest.raises(InputError) as caught:
        Architecture("linear", features=path).check((1, 8, 8), 3)
    assert path in str(caught.value)
    assert word in str(caught.value)
