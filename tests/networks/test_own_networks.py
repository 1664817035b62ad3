"""Networks as people have them: classes, modules, functions, with outputs and random layers of any kind."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from noiselimit import InputError, LimitClassifier, RunSpec, grid, load_run, train
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.examples import DataSet
from noiselimit.networks import NETWORKS, Pretrained

SHORT = {"epochs": 2, "batch_size": 16}


class Plain(nn.Module):
    """As in most tutorials: the sizes are in the code."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.last = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.body(x))


class Sized(Plain):
    def __init__(self, hidden: int = 8, num_classes: int = 10) -> None:
        super().__init__()
        self.body, self.last = nn.Linear(5, hidden), nn.Linear(hidden, num_classes)


def backbone() -> nn.Module:
    """Pretrained for 1000 classes."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1000))


def named_head() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 8), nn.Linear(8, 7), nn.Softplus())


GIVEN: dict[str, Any] = {
    "class": Plain,
    "sized": Sized,
    "instance": Sized(num_classes=3),
    "function": lambda shape, classes: nn.Linear(*shape, classes),
    "backbone": backbone(),
    "linear": nn.Linear(5, 9),
    "compiled": torch.compile(nn.Linear(5, 3)),
    "named": Pretrained(named_head(), head="1"),
}


@pytest.mark.parametrize("network", GIVEN.values(), ids=GIVEN)
def test_a_network_is_given_as_what_it_is(network: Any, blobs: DataSet) -> None:
    specs = grid(network=network, seed=[0, 1], **SHORT)
    assert len({spec.key for spec in specs}) == 2
    runs = train(specs, blobs, threads=2)
    assert runs[0].predict_proba(blobs.examples.inputs).shape == (151, 3)
    assert AuditPlan(network=network).specs(blobs)[0].network == specs[0].network


def test_both_networks_start_from_a_modules_weights_and_it_stays_as_it_is(blobs: DataSet) -> None:
    module = backbone()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    spec = RunSpec(network=module, epochs=1, learning_rate=1e-9)  # type: ignore[arg-type]
    weights = train(spec, blobs)[0].weights
    assert weights.predictor is not None
    for state in (weights.classifier, weights.predictor):
        torch.testing.assert_close(state["0.weight"], before["0.weight"])
        assert state["2.weight"].shape == (3, 8)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_the_estimator_takes_a_module_and_can_be_pickled(blobs: DataSet) -> None:
    x, y = blobs.examples.inputs, blobs.examples.labels
    fitted = LimitClassifier(network=Plain(), epochs=3, beta=3.0, random_state=0).fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(x), fitted.predict_proba(x))


@pytest.mark.parametrize(
    ("network", "words"),
    [(lambda shape, classes: nn.Linear(*shape, classes), "lambda"), (Plain(), "Plain")],
    ids=["lambda", "instance"],
)
def test_what_could_not_be_loaded_again_is_refused(
    network: Any, words: str, blobs: DataSet, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"{words}.*NETWORKS.register"):
        train(RunSpec(network=network), blobs, out=tmp_path / "runs")
    assert not list(tmp_path.rglob("*.json"))


def test_a_class_of_a_module_and_a_registered_network_are_loaded_again(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NETWORKS, "_added", {})
    NETWORKS.register("sized", Sized)
    for network, trusted in ((Plain, True), ("sized", False)):
        (run,) = train(RunSpec(network=network, **SHORT), blobs, out=tmp_path)  # type: ignore[arg-type]
        assert run.path is not None
        loaded = load_run(run.path, trusted=trusted)
        inputs = blobs.examples.inputs
        np.testing.assert_array_equal(loaded.predict_proba(inputs), run.predict_proba(inputs))
    monkeypatch.setattr(NETWORKS, "_added", {})
    again = load_run(run.path, factory=Sized)  # in a program that knows it by another name
    np.testing.assert_array_equal(again.predict_proba(inputs), run.predict_proba(inputs))
    with pytest.raises(InputError, match="taken"):
        NETWORKS.register("mlp", Sized)


@pytest.mark.parametrize(
    ("network", "word"),
    [
        (nn.Sequential(nn.Linear(5, 7), nn.Softplus()), "head='NAME'"),
        (Pretrained(named_head(), head="9"), "'9'"),
        (nn.ReLU(), "no trainable parameter"),
        (lambda shape, classes: torch.jit.script(nn.Linear(5, 3)), "plain torch.nn.Module"),
        (3, "unknown network '3'"),
        (None, "unknown network 'None'"),
    ],
)
def test_networks_that_do_not_fit(network: Any, word: str, blobs: DataSet) -> None:
    with pytest.raises(InputError, match=word):
        train(RunSpec(network=network, epochs=1), blobs)


class Output(dict[str, Tensor]):
    """As in Transformers: a dict with attributes."""

    @property
    def logits(self) -> Tensor:
        return self["logits"]


WRAPPED: dict[str, Callable[[Tensor], Any]] = {
    "tuple": lambda x: (x, (x, x)),
    "three": lambda x: (x, x, x),
    "dict": lambda x: {"loss": None, "logits": x},
    "output": lambda x: Output(logits=x),
}


@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_networks_return_logits_in_many_things(wrap: Callable[[Tensor], Any], blobs: DataSet) -> None:
    def build(shape: tuple[int, ...], classes: int) -> nn.Module:
        network = nn.Linear(*shape, classes)
        network.register_forward_hook(lambda module, inputs, output: wrap(output))
        return network

    plain, wrapped = (
        train(RunSpec(network=each, **SHORT), blobs)[0]  # type: ignore[arg-type]
        for each in (lambda shape, classes: nn.Linear(*shape, classes), build)
    )
    assert plain.history == wrapped.history


class Functional(Plain):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(functional.dropout(x, 0.3, self.training))


class Attention(Plain):
    """As in timm's vision transformers: attention reads the `p` of a dropout layer."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None]
        return super().forward(
            functional.scaled_dot_product_attention(x, x, x, dropout_p=self.drop.p if self.training else 0.0)[
                :, 0
            ]
        )


def sequence(layer: Callable[[], nn.Module]) -> Callable[..., nn.Module]:
    return lambda shape, classes: nn.Sequential(nn.Linear(5, 4), layer(), nn.Linear(4, classes))


DRAWING: dict[str, Any] = {
    "functional": Functional,
    "attention": Attention,
    "alpha": sequence(nn.AlphaDropout),
    "feature-alpha": sequence(nn.FeatureAlphaDropout),
    "dropout1d": sequence(nn.Dropout1d),
    "rrelu": sequence(nn.RReLU),
    "transformer": sequence(lambda: nn.TransformerEncoderLayer(4, 2, 8)),
}


@pytest.mark.parametrize("network", DRAWING.values(), ids=DRAWING)
def test_all_layers_draw_from_the_runs_seed(network: Any, blobs: DataSet) -> None:
    spec = RunSpec(network=network, epochs=2, batch_size=32)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    (first,) = train(spec, blobs)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(2)
    together = train(grid(network=network, epochs=2, batch_size=32, seed=[0, 1, 2]), blobs, threads=3)
    assert together[0].history == first.history  # whatever trains beside it
    assert together[1].history != first.history
