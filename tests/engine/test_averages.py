"""Probabilities are averaged over the second half of the epochs, without a trace in the training itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.callbacks import Averages, is_averaged
from noiselimit.engine.results import Scores
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

CPU = torch.device("cpu")
STEADY = {"learning_rate": 1e-9, "network": "mlp-4x512", "batch_size": 16, "noise": "uniform:0.3"}
"""Weights stay as they began, and nothing in the network tells training from evaluation."""


@pytest.mark.parametrize(("epochs", "first"), [(1, 1), (2, 2), (3, 2), (25, 13), (40, 21)])
def test_the_second_half_begins_in_the_middle(epochs: int, first: int) -> None:
    spec = RunSpec("ce", epochs=epochs)
    assert [is_averaged(spec, epoch) for epoch in (first - 1, first, epochs)] == [False, True, True]


@given(st.data())
def test_means_are_those_of_what_was_added_while_it_counted(data: st.DataObject) -> None:
    """Two rows, the first with a predictor and with a later half; positions may come twice in a step."""
    specs = [RunSpec("limit-l", epochs=4), RunSpec("ce", epochs=2)]
    averages = Averages.zeros(2, 1, trained=3, validated=2, classes=2, device=CPU)
    tables = (averages.classifier, averages.predictor, averages.times, averages.active)
    addresses = [table.data_ptr() for table in tables]
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    added: dict[tuple[str, int, int], list[np.ndarray]] = {}
    for epoch in (1, 2, 3, 4):
        averages.on_epoch_start(epoch, specs)
        for add, size, offset in ((averages.on_train_batch, 3, 0), (averages.on_validation_batch, 2, 3)):
            places = generator.integers(0, size, (2, 3))
            said, judged = (
                torch.tensor(generator.normal(size=(rows, 3, 2)), dtype=torch.float32) for rows in (2, 1)
            )
            add(torch.from_numpy(places), said, judged)
            for row, spec in enumerate(specs):
                for k, place in enumerate(places[row]) if is_averaged(spec, epoch) else ():
                    added.setdefault(("c", row, offset + place), []).append(said[row, k].softmax(-1).numpy())
                    if row == 0:
                        added.setdefault(("q", 0, offset + place), []).append(
                            judged[0, k].softmax(-1).numpy()
                        )
    assert [table.data_ptr() for table in tables] == addresses, "a recorded step would miss it"
    last = Scores(torch.full((3, 2), 0.25), torch.full((3, 2), 0.75))
    for kept, row in ((averages, 0), (averages, 1), (averages.select([1]), 1)):
        own = Scores(last.classifier, last.predictor if row == 0 else None)
        means = kept.result(row if kept is averages else 0, own)
        assert means is not None
        assert (means["train"].predictor is None) == (row == 1)
        for network, part, offset, size in (
            ("c", "train", 0, 3),
            ("c", "validation", 3, 2),
            ("q", "train", 0, 3),
        ):
            table = means[part].classifier if network == "c" else means[part].predictor
            for place in range(size) if table is not None else ():
                values = added.get((network, row, offset + place))
                if values is not None:
                    np.testing.assert_allclose(table[place], np.mean(values, 0), rtol=1e-5)
                elif part == "train":
                    assert table[place].tolist() == ([0.25] * 2 if network == "c" else [0.75] * 2)


def test_nothing_was_averaged_before_the_second_half() -> None:
    averages = Averages.zeros(1, 0, trained=2, validated=1, classes=2, device=CPU)
    averages.on_epoch_start(1, [RunSpec("ce", epochs=2)])
    averages.on_train_batch(torch.tensor([[0, 1]]), torch.zeros(1, 2, 2), None)
    assert averages.result(0, Scores(torch.ones(2, 2), None)) is None


def mixed_specs() -> list[RunSpec]:
    """Rows with and without predictor that end at different epochs."""
    settings = {"noise": "uniform:0.4", "batch_size": 17}
    long = grid(method=["ce", "limit-l", "limit-g+s"], beta=[3], sigma=[0.1], epochs=5, **settings)
    return long + grid(method=["limit-l", "ce"], beta=[10], seed=1, epochs=2, **settings)


def assert_same_averages(first: Run, second: Run) -> None:
    one, other = first.averaged, second.averaged
    assert one is not None
    assert other is not None
    assert np.array_equal(one.index, other.index)
    assert np.array_equal(one.classifier, other.classifier)
    if one.predictor is None or other.predictor is None:
        assert one.predictor is other.predictor
    else:
        assert np.array_equal(one.predictor, other.predictor)


@pytest.mark.parametrize("leaving", [True, False])
def test_averages_are_bitwise_the_same_alone_and_in_a_cohort(
    tiny_images: DataSet, monkeypatch: pytest.MonkeyPatch, leaving: bool
) -> None:
    alone = [train(spec, tiny_images, device="cpu", threads=1, averaged=True)[0] for spec in mixed_specs()]
    monkeypatch.setattr("noiselimit.engine.block.Block._removal_pays", lambda *_: leaving)
    together = train(mixed_specs(), tiny_images, device="cpu", threads=1, averaged=True)
    for one, other in zip(alone, together, strict=True):
        assert_same_averages(one, other)
        assert (one.averaged.predictor is None) == (one.spec.method == "ce")  # type: ignore[union-attr]


def test_training_is_bitwise_the_same_with_and_without(tiny_images: DataSet) -> None:
    plain = train(mixed_specs(), tiny_images, device="cpu", threads=1)
    averaged = train(mixed_specs(), tiny_images, device="cpu", threads=1, averaged=True)
    for one, other in zip(plain, averaged, strict=True):
        assert one.averaged is None
        assert one.spec.hash == other.spec.hash
        assert one.history == other.history
        assert one.outputs.equals(other.outputs)
        for name, tensor in one.weights.classifier.items():
            assert torch.equal(tensor, other.weights.classifier[name])


@pytest.mark.parametrize("sampler", ["shuffled", "balanced"])
def test_of_networks_that_hardly_learn_the_average_is_what_they_say(blobs: DataSet, sampler: str) -> None:
    """So every example's probabilities are its own, in data order, of both parts and both networks."""
    specs = grid(method=["limit-l", "ce"], epochs=3, sampler=sampler, **STEADY)
    for run in train(specs, blobs, device="cpu", averaged=True):
        averaged, outputs = run.averaged, run.outputs
        assert averaged is not None
        inputs = np.asarray(blobs.examples.inputs)[averaged.index]
        assert averaged.index.tolist() == outputs["index"][outputs["part"] != "test"].tolist()
        assert averaged.classifier.dtype == np.float32
        np.testing.assert_allclose(averaged.classifier, run.predict_proba(inputs), atol=1e-4)
        assert np.ptp(averaged.classifier[:, 0]) > 0.01, "all alike, so any order would do"
        if run.predictor is None:
            assert averaged.predictor is None
        else:
            with torch.no_grad():
                judged = run.predictor(run.data.standardised(inputs))[0].softmax(-1).numpy()
            np.testing.assert_allclose(averaged.predictor, judged, atol=1e-4)


def test_a_part_of_its_own_that_chooses_the_epoch_is_not_averaged(blobs: DataSet) -> None:
    """The held-out examples are, though they choose nothing."""
    examples = blobs.examples
    chosen = make_examples(
        np.asarray(examples.inputs)[:20] + 1, examples.labels[:20], clean_labels=examples.labels[:20]
    )
    data = DataSet("two", examples, validation=chosen)
    for labels in ("given", "clean"):
        spec = RunSpec("limit-l", epochs=2, validation_labels=labels, **STEADY)  # type: ignore[arg-type]
        run = train(spec, data, device="cpu", averaged=True)[0]
        assert run.averaged is not None
        outputs = run.outputs
        assert run.averaged.index.tolist() == outputs["index"][outputs["part"] != "test"].tolist()
        said = run.predict_proba(np.asarray(examples.inputs)[run.averaged.index])
        np.testing.assert_allclose(run.averaged.classifier, said, atol=1e-4)


def test_runs_that_fail_or_stop_early_have_no_averages(blobs: DataSet) -> None:
    settings = {"noise": "uniform:0.3", "batch_size": 16, "optimiser": "sgd"}
    good = RunSpec("limit-l", epochs=4, **settings)  # type: ignore[arg-type]
    bad = RunSpec("limit-l", epochs=4, learning_rate=1e30, **settings)  # type: ignore[arg-type]
    runs = train([good, bad], blobs, device="cpu", threads=1, averaged=True)
    assert runs[0].averaged is not None
    assert np.isfinite(runs[0].averaged.classifier).all()
    assert runs[1].failed
    assert runs[1].averaged is None
    stopping = RunSpec("ce", epochs=1000, patience=1, learning_rate=1e-9, batch_size=16)
    stopped = train(stopping, blobs, device="cpu", averaged=True)[0]
    assert len(stopped.history) < 500
    assert stopped.averaged is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_recorded_steps_average_what_steps_one_by_one_do(tiny_images: DataSet) -> None:
    """At rates so low that rounding does not grow; rows leave, so steps are recorded anew."""
    specs = [replace(spec, learning_rate=1e-6, precision="float32") for spec in mixed_specs()]
    runs = [train(specs, tiny_images, device="cuda", graphs=way, averaged=True) for way in ("on", "off")]
    for recorded, plain in zip(*runs, strict=True):
        assert recorded.averaged is not None
        assert plain.averaged is not None
        np.testing.assert_allclose(recorded.averaged.classifier, plain.averaged.classifier, atol=1e-3)
        if plain.averaged.predictor is not None:
            np.testing.assert_allclose(recorded.averaged.predictor, plain.averaged.predictor, atol=1e-3)
        np.testing.assert_allclose(recorded.averaged.classifier.sum(1), 1, atol=1e-5)
