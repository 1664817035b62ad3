"""What every task keeps: LIMIT's guarantee, losses with gradient m(a) − y, one sentence for bad labels."""

import numpy as np
import pytest
import torch

from noiselimit import InputError, grid, make_values, train
from noiselimit.methods import METHODS
from noiselimit.randomness import Stream, uniforms
from noiselimit.tasks import CLASSIFICATION, TASKS, MultiLabel, Regression, task_from_json
from noiselimit.testing import gradients, random_batch

INSTANCES = {"classification": CLASSIFICATION, "regression": Regression(3.0, 2.0), "multilabel": MultiLabel()}
every_task = pytest.mark.parametrize("task", INSTANCES.values(), ids=INSTANCES)


def test_every_task_is_tested_here() -> None:
    assert {name: type(task) for name, task in INSTANCES.items()} == dict(TASKS)
    assert all(task_from_json(task.to_json()) == task for task in INSTANCES.values())


@every_task
@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("limit")])
def test_labels_do_not_reach_the_model_but_through_the_predictor(name, task) -> None:
    method = METHODS[name]
    if method.needs_classes and not task.has_classes:
        return
    batch, other = (random_batch(method, seed=seed, task=task) for seed in (0, 1))
    hyper = {key: torch.full((3,), value) for key, value in method.hyper.items()}
    assert not torch.equal(batch.labels, other.labels)
    found = gradients(method.loss(batch, hyper), batch)
    batch.labels.copy_(other.labels)
    changed = gradients(method.loss(batch, hyper), batch)
    assert torch.equal(found["logits"], changed["logits"])
    assert not torch.equal(found["predictor"], changed["predictor"])


@every_task
def test_the_gradient_of_the_loss_is_mean_minus_target(task) -> None:
    batch = random_batch(METHODS["ce"], task=task, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(task.loss(batch.logits, batch.labels).sum(), batch.logits)
    means = task.mean(batch.logits)
    torch.testing.assert_close(gradient, means - task.target(batch.labels, means))
    torch.testing.assert_close(task.absolute_error(batch.logits, batch.labels), gradient.abs().sum(-1))
    torch.testing.assert_close(task.gap(batch.logits, batch.labels), gradient.square().sum(-1).sqrt())
    score = task.score(batch.logits, batch.labels)
    assert ((score >= 0) & (score <= 1)).all()


def test_outliers_do_not_move_centre_and_scale_and_labels_come_back() -> None:
    labels = np.random.default_rng(0).normal(50, 5, 1001)
    task = Regression.of(labels)
    assert task.centre == pytest.approx(50, abs=1)
    assert task.scale == pytest.approx(5, rel=0.1)
    spoiled = Regression.of(np.where(np.arange(1001) < 200, labels * 1000, labels))
    assert abs(spoiled.centre - task.centre) < task.scale
    assert spoiled.scale < 2 * task.scale
    np.testing.assert_allclose(task.decode(task.encode(labels)[:, None]), labels, rtol=1e-6)


def regression(count: int = 300) -> tuple[np.ndarray, np.ndarray]:
    inputs = uniforms(0, Stream.WEIGHTS, 0, 3 * count).reshape(count, 3).astype(np.float32)
    return inputs, 100 + 40 * np.sin(4 * inputs[:, 0].astype(float)) + 20 * inputs[:, 1]


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (np.ones(300), "nothing to learn"),
        (np.full(300, np.nan), "missing"),
        (np.r_[np.nan, np.arange(299)], "missing"),
        (np.r_[np.inf, np.arange(299)], "infinite"),
        (["cheap", *range(299)], "cheap"),
        (np.arange(299), "299"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(labels, word) -> None:
    with pytest.raises(InputError, match=word):
        make_values(regression()[0], labels)


def test_training_learns_values_and_runs_are_loaded_again(tmp_path) -> None:
    inputs, labels = regression()
    examples = make_values(inputs, labels)
    settings = {"epochs": 25, "batch_size": 32, "network": "mlp"}
    specs = grid(method=["ce", "mae", "huber", "limit-l", "limit-g+s"], beta=3, noise="unit:0.2", **settings)
    runs = train(specs, examples, out=tmp_path / "runs", threads=1, averaged=True)
    again = train(specs, examples, out=tmp_path / "runs", threads=1, averaged=True)
    limit = next(run for run in again if run.spec.method == "limit-l")
    assert np.median(np.abs(limit.predict(inputs) - labels)) < 5
    assert limit.metrics["gap_auc"] > 0.9
    for run, other in zip(runs, again, strict=True):
        np.testing.assert_array_equal(run.predict(inputs), other.predict(inputs))
        assert run.outputs.equals(other.outputs.astype(run.outputs.dtypes.to_dict()))
        assert run.metrics["memorised_bits"] is None
    # Prop. 3.1 holds with as many dimensions as outputs.
    assert next(run for run in runs if run.spec.method == "limit-g+s").metrics["capacity_bits"] > 0


@pytest.mark.parametrize("settings", [{"method": "gce"}, {"sampler": "balanced"}, {"noise": "uniform:0.2"}])
def test_what_needs_classes_is_refused(settings) -> None:
    with pytest.raises(InputError, match="class"):
        train(grid(**settings, epochs=1), make_values(*regression()))


def test_a_run_does_not_depend_on_its_cohort() -> None:
    examples = make_values(*regression())
    specs = grid(method=["limit-l", "mae"], beta=[3, 10], epochs=3, batch_size=32)
    together = train(specs, examples, threads=1)
    for spec, run in zip(specs, together, strict=True):
        (alone,) = train(spec, examples, threads=1)
        assert alone.history == run.history
