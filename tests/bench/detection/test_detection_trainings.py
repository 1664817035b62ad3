"""What the peers train: what is held out teaches nothing, the last epoch is the last, margins are right."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from noiselimit.audit.plan import DEFAULT as TRAINING_PLAN
from noiselimit.bench.detection import peers
from noiselimit.bench.detection.folds import fold_splits
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.peers import cross_validate, find_threshold, train_plainly, watch_margins
from noiselimit.bench.detection.trainings import EFFORT, TRAININGS
from noiselimit.bench.detection.watches import margin
from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.training import train

HOW = How(epochs=5, device="cpu", threads=1)


def test_settings_are_those_of_our_audit(blobs: DataSet) -> None:
    (ours, _), peer = HOW.plan(TRAINING_PLAN, 3).specs(blobs), HOW.spec(blobs, 3)
    for name in ("epochs", "batch_size", "learning_rate", "optimiser", "augmentation", "schedule", "seed"):
        assert getattr(peer, name) == getattr(ours, name)
    assert peer.method == "ce"
    assert peer.patience == peer.epochs == 5
    assert TRAININGS.keys() == EFFORT.keys()


def test_peers_train_the_usual_epochs_though_our_audit_takes_a_share(tiny_images: DataSet) -> None:
    how, few = (
        dataclasses.replace(HOW, epochs=None),
        dataclasses.replace(tiny_images, defaults={"epochs": 40}),
    )
    data = dataclasses.replace(few, defaults={**few.defaults, "batch_size": 2})
    assert how.spec(data, 0).epochs == 40
    assert {spec.epochs for spec in how.plan(TRAINING_PLAN, 0).specs(data)} == {27}


def test_the_last_epoch_is_not_the_best_one(blobs: DataSet) -> None:
    """A shorter training ends where the longer one was best, bit by bit."""
    longer = train_plainly(blobs, 0, HOW)
    best = int(longer["best_epochs"][0])
    shorter = train_plainly(blobs, 0, dataclasses.replace(HOW, epochs=best))
    assert np.array_equal(shorter["last"], longer["stopped"])
    if best < 5:
        assert not np.array_equal(longer["last"], longer["stopped"])
    (run,) = train(HOW.spec(blobs, 0), blobs, device="cpu", threads=1)
    said = longer["stopped"].argmax(1)
    assert np.array_equal(said[run.outputs["index"]], run.outputs["predicted_label"])


def test_what_is_held_out_teaches_nothing(blobs: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other labels in one fold change what all folds predict but that one itself."""
    splits = fold_splits(blobs.examples.labels, 0)
    monkeypatch.setattr(peers, "fold_splits", lambda labels, seed: splits)
    found = cross_validate(blobs, 0, HOW)["last"]
    assert found.shape == (151, 3)
    assert (found.argmax(1) == blobs.examples.labels).mean() > 0.8
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)
    labels, apart = blobs.examples.labels.copy(), np.unique(splits[2].validation)
    labels[apart] = (labels[apart] + 1) % 3
    other = dataclasses.replace(blobs, examples=dataclasses.replace(blobs.examples, labels=labels))
    changed = (cross_validate(other, 0, HOW)["last"] != found).any(1)
    assert not changed[apart].any()
    assert np.delete(changed, apart).all()


def test_the_mean_of_the_second_half_of_the_epochs(blobs: DataSet) -> None:
    """Of two epochs that is the last; of three, both of the last two, as a shorter training leaves it."""
    how = [dataclasses.replace(HOW, epochs=epochs) for epochs in (1, 2, 3)]
    one, two, three = (cross_validate(blobs, 0, each) for each in how)
    for shorter in (one, two):
        assert np.array_equal(shorter["averaged"], shorter["last"])
    np.testing.assert_allclose(three["averaged"], (two["last"] + three["last"]) / 2, atol=1e-6)
    assert not np.array_equal(three["averaged"], three["last"])


def test_margins_of_every_epoch(blobs: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """With weights that stand still and one batch for all, every epoch has the first network's margins."""
    still = dataclasses.replace(HOW.spec(blobs, 0), learning_rate=1e-30, batch_size=256)
    monkeypatch.setattr(How, "spec", lambda self, data, seed: still)
    found = watch_margins(blobs, 0, HOW)["margins"]
    assert found.shape == (5, 151)
    (run,) = train(still, blobs, device="cpu", threads=1)
    with torch.inference_mode():
        run.model.train()
        logits, _ = run.model(run.data.standardised(np.asarray(blobs.examples.inputs)))
    expected = margin(logits, torch.from_numpy(blobs.examples.labels)).numpy()
    assert np.ptp(expected) > 0.1
    for epoch in found:
        np.testing.assert_allclose(epoch, expected, atol=1e-4)


def test_the_threshold_comes_from_examples_of_no_class(blobs: DataSet) -> None:
    found = find_threshold(blobs, 0, HOW)
    assert found["margins"].shape == (2, 5, 151)
    assert found["sets"].sum(1).tolist() == [151 // 4, 151 // 4]
    assert not found["sets"].all(0).any()
    last = found["margins"][:, -1]
    assert not np.array_equal(last[0], last[1])
    for own, chosen in zip(last, found["sets"], strict=True):
        assert own[chosen].mean() < own[~chosen].mean() - 1, "labels of no class cannot be learned"


def test_our_audits_say_who_was_seen(blobs: DataSet) -> None:
    found = TRAININGS["fast"](blobs, 0, HOW)
    assert found["probabilities"].shape == (151, 3)
    assert found["seen"].sum() == 151 - round(0.2 * 151)
    (run,) = json.loads(str(found["trained"]))
    assert run["counted"]
    assert run["method"].startswith("limit-")
    assert 1 <= run["epochs"] <= 5


@pytest.mark.parametrize(
    "changes", [{"threads": 0}, {"epochs": 0}, {"network": "xyzzy"}, {"device": "tpu"}, {"kernels": "so"}]
)
def test_what_cannot_be_trained_is_said_early(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        How(**{"device": "cpu", **changes})  # type: ignore[arg-type]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_gpu_that_replays_hears_the_same(tiny_images: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """At rates so low that rounding does not grow."""
    usual = How.spec
    monkeypatch.setattr(
        How,
        "spec",
        lambda *given: dataclasses.replace(usual(*given), learning_rate=1e-6, precision="float32"),
    )
    ways = [How(epochs=3, device="cuda", graphs=graphs) for graphs in ("on", "off")]
    for training, name in (("margins", "margins"), ("threshold", "margins"), ("folds", "last")):
        replayed, plain = (TRAININGS[training](tiny_images, 0, how)[name] for how in ways)
        np.testing.assert_allclose(replayed, plain, atol=1e-3)
        assert np.ptp(plain) > 0.01
