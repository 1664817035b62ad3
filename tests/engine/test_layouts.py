"""Both layouts compute what K ordinary modules compute: outputs, gradients and statistics."""

import pytest
import torch
from torch import Tensor, nn

from noiselimit.engine.layouts import Forward, can_stack, layout_for, looped, stacked
from noiselimit.networks import NETWORKS
from noiselimit.networks.architecture import Role, initial_state

CASES = [("small-cnn", (2, 8, 8)), ("mnist-cnn", (1, 28, 28)), ("mlp", (6,)), ("mlp-4x512", (1, 5, 5))]
ROWS, BATCH = 3, 9


def given(name: str, shape: tuple[int, ...]) -> tuple[nn.Module, list[dict[str, Tensor]], set[str], Tensor]:
    """A network, the states of its rows, the names of its parameters, and inputs."""
    module = NETWORKS[name].build(shape, 4)
    states = [initial_state(module, seed, Role.CLASSIFIER) for seed in range(ROWS)]
    inputs = torch.randn(ROWS, BATCH, *shape, generator=torch.Generator().manual_seed(1))
    return module, states, {key for key, _ in module.named_parameters()}, inputs


def outcome(
    forward: Forward, states: list[dict[str, Tensor]], learned: set[str], inputs: Tensor, training: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    """(logits and features, gradients of Σ logits² by parameter, buffers), all stacked."""
    together = {key: torch.stack([state[key] for state in states]) for key in states[0]}
    parameters = {key: together[key].clone().requires_grad_() for key in learned}
    buffers = {key: tensor.clone() for key, tensor in together.items() if key not in learned}
    logits, features = forward(parameters, buffers, inputs, training)
    gradients = torch.autograd.grad(logits.square().sum(), parameters.values())
    outputs = {"logits": logits.detach(), "features": features.detach()}
    return outputs, dict(zip(parameters, gradients, strict=True)), buffers


@pytest.mark.parametrize("layout", [looped, stacked])
@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.parametrize("training", [True, False])
def test_equals_the_ordinary_modules(layout, name: str, shape: tuple[int, ...], training: bool) -> None:
    module, states, learned, inputs = given(name, shape)
    outputs, gradients, buffers = outcome(layout(module), states, learned, inputs, training)
    for row, state in enumerate(states):
        plain = NETWORKS[name].build(shape, 4)
        plain.load_state_dict(state)
        plain.train(training)
        own_logits, own_features = plain(inputs[row])
        own_logits.square().sum().backward()
        torch.testing.assert_close(outputs["logits"][row], own_logits, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(outputs["features"][row], own_features, atol=1e-4, rtol=1e-4)
        for key, parameter in plain.named_parameters():
            scale = float(parameter.grad.abs().max())
            torch.testing.assert_close(gradients[key][row], parameter.grad, atol=1e-4 * scale, rtol=1e-3)
        for key, buffer in plain.named_buffers():
            torch.testing.assert_close(buffers[key][row], buffer, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("layout", [looped, stacked])
@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.parametrize("training", [True, False])
def test_in_bfloat16_a_row_differs_only_by_rounding(
    layout, name: str, shape: tuple[int, ...], training: bool
) -> None:
    """Gradients differ more, because rounding switches some ReLUs."""
    module, states, learned, inputs = given(name, shape)
    exact, rounded = (
        outcome(layout(module, dtype), states, learned, inputs, training)
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert not torch.equal(rounded[0]["features"], exact[0]["features"])
    for wanted, found, most in zip(exact, rounded, (0.02, 0.3, 0.01), strict=True):
        for key, values in wanted.items():
            assert found[key].dtype == values.dtype, key
            differences, sizes = (
                tensor.double().reshape(ROWS, -1).norm(dim=1) for tensor in (found[key] - values, values)
            )
            assert (differences <= most * sizes).all(), key


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_users_network_is_looped_as_it_is(dtype: torch.dtype) -> None:
    """Its layers may have options that our replacements lack, such as the bias here."""
    module = nn.Sequential(nn.Conv2d(1, 2, 3, bias=True), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    module.register_forward_hook(lambda module, inputs, output: (output, output))
    assert not can_stack(module)
    assert all(can_stack(NETWORKS[name].build(shape, 4)) for name, shape in CASES)
    forward = layout_for(module, torch.device("cpu"), dtype, fused=False)
    state = {name: torch.stack([t, t]) for name, t in module.state_dict().items()}
    inputs = torch.randn(2, 5, 1, 4, 4)
    logits, _ = forward(state, {}, inputs, False)
    assert logits.dtype == torch.float32
    for row in range(2):
        torch.testing.assert_close(logits[row], module(inputs[row])[0], atol=0.05, rtol=0.05)
