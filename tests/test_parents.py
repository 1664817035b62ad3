"""fw, dmi and +init start from the best CE run of the same data, noise and seed."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from noiselimit import InputError, RunSpec, grid, load_run, train
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.block_networks import initial_weights
from noiselimit.engine.preparation import bind, parent_spec
from noiselimit.methods import METHODS
from noiselimit.networks import Role
from noiselimit.runs.spec import architecture
from noiselimit.training import Progress

CHILDREN = sorted(name for name, method in METHODS.items() if method.starts)
SETTINGS = {"noise": "uniform:0.3", "epochs": 2, "batch_size": 16}


def test_all_children_share_one_parent_and_record_it(blobs: DataSet, tmp_path: Path) -> None:
    heard: list[Progress] = []
    runs = train(grid(method=CHILDREN, **SETTINGS), blobs, out=tmp_path, progress=heard.append)
    assert len(list(tmp_path.iterdir())) == len(runs) + 1
    parent = next(load_run(path) for path in tmp_path.glob("ce-seed*"))
    for child in runs:
        assert child.spec.parent == parent.spec.hash
        assert load_run(child.path).spec == child.spec
    assert heard[-1].done == heard[-1].total == 2 * (len(runs) + 1)


def test_an_existing_parent_is_loaded(blobs: DataSet, tmp_path: Path) -> None:
    train(grid(method="ce", **SETTINGS), blobs, out=tmp_path)
    heard: list[Progress] = []
    train(grid(method="fw", **SETTINGS), blobs, out=tmp_path, progress=heard.append)
    assert {news.spec.method for news in heard if news.record} == {"fw"}


@pytest.mark.parametrize("method", CHILDREN)
def test_a_child_starts_with_the_weights_of_its_parent(tiny_images: DataSet, method: str) -> None:
    """A child whose steps have no length (learning rate 1e-30) keeps the parent's weights to the last bit."""
    settings = {**SETTINGS, "epochs": 3}
    (parent,) = train(grid(method="ce", **settings), tiny_images)
    rates = {"learning_rate": 1e-30, "parent_learning_rate": 1e-3}
    (child,) = train(grid(method=method, **rates, **settings), tiny_images)
    started = child.weights.classifier if METHODS[method].starts == "classifier" else child.weights.predictor
    assert started is not None
    for name, tensor in parent.weights.classifier.items():
        if "running" in name or "tracked" in name:
            continue  # batch-norm's statistics move on with the batches that the child sees
        assert torch.equal(started[name], tensor)


def test_batch_norm_statistics_come_with_the_weights(blobs: DataSet) -> None:
    (parent,) = train(grid(method="ce", **SETTINGS), blobs)
    spec = bind(grid(method="limit-l+init", **SETTINGS)[0], blobs)
    module = architecture(spec, Role.PREDICTOR).build((5,), 3)
    state = initial_weights(spec, Role.PREDICTOR, (5,), 3, parent.weights.classifier)
    module.load_state_dict(state)
    inputs = parent.data.standardised(blobs.examples.inputs)
    assert torch.equal(module.eval()(inputs)[0], parent.model(inputs)[0])
    fresh = initial_weights(spec, Role.CLASSIFIER, (5,), 3, parent.weights.classifier)
    assert not torch.equal(fresh["head.weight"], state["head.weight"])


def test_the_parent_has_its_own_learning_rate_and_no_settings_of_the_child(blobs: DataSet) -> None:
    shared = {"weight_decay": 0.1, "parent_learning_rate": 3e-3}
    slow, fast = (bind(RunSpec("dmi", learning_rate=rate, **shared), blobs) for rate in (1e-5, 1e-4))
    assert slow.parent == fast.parent
    assert slow.hash != fast.hash
    assert parent_spec(slow) == bind(RunSpec("ce", learning_rate=3e-3, weight_decay=0.1), blobs)
    usual = bind(RunSpec("fw", learning_rate=0.02, optimiser="sgd"), blobs)
    assert parent_spec(usual) == bind(RunSpec("ce", learning_rate=0.02, optimiser="sgd"), blobs)
    assert parent_spec(bind(RunSpec("dmi", learning_rate=1e-5), blobs)) == bind(RunSpec("ce"), blobs)
    assert bind(RunSpec("fw"), blobs).hash == bind(RunSpec("fw", parent_learning_rate=1e-3), blobs).hash
    assert parent_spec(bind(RunSpec("ce"), blobs)) is None


def test_a_parent_may_have_its_own_epochs(blobs: DataSet) -> None:
    tried, whole = (bind(RunSpec("limit-l+init", epochs=n, parent_epochs=9), blobs) for n in (3, 9))
    assert parent_spec(tried) == parent_spec(whole) == bind(RunSpec("ce", epochs=9), blobs)
    assert whole.hash == bind(RunSpec("limit-l+init", epochs=9), blobs).hash
    assert bind(RunSpec("ce", parent_epochs=9), blobs).hash == bind(RunSpec("ce"), blobs).hash


def test_a_failed_parent_fails_the_child_with_the_reason(blobs: DataSet, tmp_path: Path) -> None:
    settings = {**SETTINGS, "parent_learning_rate": 1e30}
    (child,) = train(grid(method="fw", **settings), blobs, out=tmp_path)
    assert child.failed
    assert "its parent run" in child.metrics["failure"]
    assert "was not a finite number at step" in child.metrics["failure"]
    assert child.metrics["failure"].endswith("lower parent_learning_rate")
    assert load_run(child.path).failed


def test_fw_takes_a_given_matrix_or_estimates_one_on_the_training_examples(blobs: DataSet) -> None:
    specs = [RunSpec("ce", **SETTINGS), RunSpec("fw", **SETTINGS)]
    parent, child, told = train([*specs, RunSpec("fw", transition="uniform:0.3", **SETTINGS)], blobs)
    uniform = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    np.testing.assert_allclose(told.metrics["transition"], uniform, atol=1e-6)
    assert told.spec.hash != child.spec.hash
    assert told.spec.parent == child.spec.parent
    trained = child.outputs.query("part == 'train'")["index"].to_numpy()
    predicted = torch.from_numpy(parent.predict_proba(blobs.examples.inputs[trained]))
    estimate = METHODS["fw"].transition
    np.testing.assert_allclose(child.metrics["transition"], estimate(predicted), atol=1e-4)


def test_an_existing_parent_that_does_not_fit_is_refused(blobs: DataSet, tmp_path: Path) -> None:
    (parent,) = train(grid(method="ce", **SETTINGS), blobs, out=tmp_path)
    assert parent.path is not None
    weights = parent.weights.classifier
    for state in (
        {**weights, "head.weight": weights["head.weight"][:, :5]},
        {name.replace("head", "tail"): tensor for name, tensor in weights.items()},
        {name: tensor * torch.nan for name, tensor in weights.items()},
    ):
        tensors = {f"classifier.{name}": tensor.contiguous() for name, tensor in state.items()}
        safetensors.torch.save_file(tensors, parent.path / "weights.safetensors")
        with pytest.raises(InputError, match="delete"):
            train(grid(method=["fw", "limit-l+init"], **SETTINGS), blobs, out=tmp_path)
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_fw_estimates_a_known_matrix_from_its_parent() -> None:
    generator = np.random.default_rng(0)
    labels = np.arange(12000) % 3
    inputs = np.eye(3)[labels] + generator.normal(size=(12000, 3)) * 0.03
    rows = [[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.25, 0.75]]
    rates = {"network": "linear", "learning_rate": 0.03, "parent_learning_rate": 0.03}
    data = DataSet("three", make_examples(inputs, labels))
    (run,) = train(grid(method="fw", noise=np.array(rows), epochs=15, **rates), data)
    np.testing.assert_allclose(run.metrics["transition"], rows, atol=0.06)
    assert run.metrics["test_accuracy"] > 0.99


def test_what_does_not_fit_is_refused_before_training(blobs: DataSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="predictor_network is 'mlp-4x512'"):
        train(grid(method="limit-l+init", predictor_network="mlp-4x512"), blobs, out=tmp_path / "o")
    with pytest.raises(InputError, match="3 × 3"):
        train(RunSpec("fw", transition=np.eye(4), epochs=1), blobs, out=tmp_path / "o")
    assert not (tmp_path / "o").exists()
