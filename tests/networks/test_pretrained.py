"""Weights from a file: what fits is taken, the last layer may differ, all else is an error; no pickles."""

import hashlib
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from noiselimit.errors import InputError
from noiselimit.networks import Architecture, Role
from noiselimit.networks.pretrained import WeightsFile, read_weights_file, with_pretrained

State = dict[str, Tensor]
HEAD = ("head.weight", "head.bias", "fc.weight", "fc.bias")


def state(seed: int = 0, classes: int = 3, name: str = "small-cnn", **settings: float) -> State:
    return Architecture(name, **settings).initial_state((1, 8, 8), classes, seed, Role.CLASSIFIER)


def weights(tensors: State) -> WeightsFile:
    return WeightsFile("theirs.safetensors", "0" * 64, tensors)


def without(tensors: State, *names: str) -> State:
    return {key: tensor for key, tensor in tensors.items() if key not in names}


def equal(first: State, second: State) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_equal_files_are_equal_and_a_spec_keeps_their_digest(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_file(state(1), tmp_path / name)
    first, second = (read_weights_file(tmp_path / name) for name in ("a", "b"))
    assert (first.name, first.digest) == ("a", hashlib.sha256((tmp_path / "a").read_bytes()).hexdigest())
    assert equal(with_pretrained(state(0), first), state(1))
    loaded = WeightsFile.from_json(first.to_json())
    assert first == second == loaded
    assert len({first, second, loaded}) == 1
    assert "tensor" not in repr(first)
    with pytest.raises(InputError, match="give the file again"):
        with_pretrained(state(), loaded)
    with pytest.raises(InputError, match="sha256"):
        WeightsFile.from_json({"name": "a", "sha256": 3})


@pytest.mark.parametrize("name", ["small-cnn", "resnet-18"])
@pytest.mark.parametrize(
    "left_out", [(), ("head.weight", "head.bias", "fc.weight", "fc.bias"), ("head.bias",)]
)
def test_a_head_for_other_classes_or_none_stays_fresh(name: str, left_out: tuple[str, ...]) -> None:
    fresh, found = state(0, 3, name), without(state(1, 10, name), *left_out)
    for key, tensor in with_pretrained(fresh, weights(found)).items():
        source = fresh if key.startswith(("head.", "fc.")) else found
        assert torch.equal(tensor, source[key])


def test_half_precision_and_missing_counts() -> None:
    found = {k: t.half() for k, t in state(1).items() if not k.endswith("num_batches_tracked")}
    mixed = with_pretrained(state(0), weights(found))
    assert {name: tensor.dtype for name, tensor in mixed.items()} == {
        name: tensor.dtype for name, tensor in state(0).items()
    }
    torch.testing.assert_close(mixed["hidden.0.weight"], state(1)["hidden.0.weight"], atol=1e-3, rtol=1e-3)


def test_dropout_keeps_the_runs_own_draws() -> None:
    fresh, found = state(0, dropout=0.5), state(1, dropout=0.5)
    for given in (found, state(1)):
        mixed = with_pretrained(fresh, weights(given))
        assert mixed.keys() == fresh.keys()
        assert torch.equal(mixed["hidden.1.1.key"], fresh["hidden.1.1.key"])
        assert torch.equal(mixed["hidden.0.weight"], found["hidden.0.weight"])
    assert equal(with_pretrained(state(0), weights(found)), state(1))


def test_a_head_without_bias_takes_the_weight_alone() -> None:
    bare = Architecture("small-cnn", head_bias=False).initial_state((1, 8, 8), 3, 0, Role.CLASSIFIER)
    assert equal(with_pretrained(bare, weights(state(1))), without(state(1), "head.bias"))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (without(state(), "hidden.0.bias"), "'hidden.0.bias'"),
        (state() | {"convolutions.0.weight": torch.zeros(16, 3, 3, 3)}, "[16, 3, 3, 3]"),
        (state() | {"head.weight": torch.zeros(3, 64)}, "'head.weight'"),
        (without(state(), "head.bias"), "'head.bias'"),
        (state() | {"layer9.weight": torch.zeros(1)}, "'layer9.weight'"),
    ],
)
def test_what_does_not_fit_is_named(found: State, word: str) -> None:
    with pytest.raises(InputError, match=r"theirs\.safetensors") as caught:
        with_pretrained(state(), weights(found))
    assert word in str(caught.value)


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("ran"),))


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_file(state(), "cut.safetensors")
    Path("cut.safetensors").write_bytes(Path("cut.safetensors").read_bytes()[:-10])
    Path("pickle.safetensors").write_bytes(pickle.dumps(Hostile()))
    for name in ("none.safetensors", ".", "cut.safetensors", "pickle.safetensors"):
        with pytest.raises(InputError, match="safetensors"):
            read_weights_file(name)
    assert not Path("ran").exists(), "a pickle was opened"
