"""Weights from a file: what fits is taken, heads may differ, all else is an error; no pickle is opened."""

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


def state(seed: int = 0, classes: int = 3, name: str = "small-cnn", **settings: float) -> State:
    return Architecture(name, **settings).initial_state((1, 8, 8), classes, seed, Role.CLASSIFIER)  # type: ignore[arg-type]


def weights(tensors: State) -> WeightsFile:
    return WeightsFile("theirs.safetensors", "0" * 64, tensors)


def equal(first: State, second: State) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_file_gives_its_tensors_and_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file(state(1), path)
    found = read_weights_file(str(path))
    assert (found.name, found.digest) == ("w.safetensors", hashlib.sha256(path.read_bytes()).hexdigest())
    assert equal(with_pretrained(state(0), found), state(1))


def test_equal_content_is_equal_without_its_tensors(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_file(state(1), tmp_path / name)
    first, second = (read_weights_file(tmp_path / name) for name in ("a", "b"))
    remembered = WeightsFile.from_json(first.to_json())
    assert first == second == remembered
    assert hash(first) == hash(second) == hash(remembered)
    assert remembered.to_json() == first.to_json()
    assert "tensor" not in repr(first)
    with pytest.raises(InputError, match="the weights of a are not at hand: give the file again"):
        with_pretrained(state(), remembered)


@pytest.mark.parametrize("value", ["text", {}, {"name": "a"}, {"name": "a", "sha256": 3}])
def test_an_altered_mention_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="give the name and sha256"):
        WeightsFile.from_json(value)


@pytest.mark.parametrize("name", ["small-cnn", "resnet-18"])
def test_a_head_of_other_classes_keeps_its_fresh_draw(name: str) -> None:
    fresh, found = state(0, 3, name), state(1, 10, name)
    mixed = with_pretrained(fresh, weights(found))
    for key, tensor in mixed.items():
        source = fresh if key.startswith(("head.", "fc.")) else found
        assert torch.equal(tensor, source[key])


def test_half_precision_and_missing_counts_are_made_good() -> None:
    found = {k: t.half() for k, t in state(1).items() if not k.endswith("num_batches_tracked")}
    mixed = with_pretrained(state(0), weights(found))
    assert {name: tensor.dtype for name, tensor in mixed.items()} == {
        name: tensor.dtype for name, tensor in state(0).items()
    }
    torch.testing.assert_close(mixed["hidden.0.weight"], state(1)["hidden.0.weight"], atol=1e-3, rtol=1e-3)


def test_dropouts_draws_stay_the_runs_own_on_either_side() -> None:
    fresh, found = state(0, dropout=0.5), state(1, dropout=0.5)
    for given in (found, state(1)):
        mixed = with_pretrained(fresh, weights(given))
        assert mixed.keys() == fresh.keys()
        assert torch.equal(mixed["hidden.1.1.key"], fresh["hidden.1.1.key"])
        assert torch.equal(mixed["hidden.0.weight"], found["hidden.0.weight"])
    assert equal(with_pretrained(state(0), weights(found)), state(1))


def test_a_head_without_bias_takes_the_weight_alone() -> None:
    bare = Architecture("small-cnn", head_bias=False).initial_state((1, 8, 8), 3, 0, Role.CLASSIFIER)
    mixed = with_pretrained(bare, weights(state(1)))
    assert mixed.keys() == bare.keys()
    assert torch.equal(mixed["head.weight"], state(1)["head.weight"])


def test_a_file_without_a_head_leaves_it_fresh() -> None:
    body = {name: tensor for name, tensor in state(1).items() if not name.startswith("head.")}
    mixed = with_pretrained(state(0), weights(body))
    assert equal(mixed, {name: body.get(name, fresh) for name, fresh in state(0).items()})


def test_a_head_without_bias_for_other_classes_leaves_the_whole_head_fresh() -> None:
    mixed = with_pretrained(state(0), weights(without(state(1, 10), "head.bias")))
    assert all(torch.equal(mixed[name], state(0)[name]) for name in ("head.weight", "head.bias"))
    assert torch.equal(mixed["hidden.0.weight"], state(1)["hidden.0.weight"])


def test_a_hidden_layer_called_fc_is_no_head() -> None:
    own = {"fc.weight": torch.zeros(4, 5), "head.weight": torch.zeros(3, 4), "head.bias": torch.zeros(3)}
    with pytest.raises(InputError, match=r"'fc\.weight' should be \[4, 5\], but the file has no such tensor"):
        with_pretrained(own, weights(without(own, "fc.weight")))


def without(tensors: State, name: str) -> State:
    return {key: tensor for key, tensor in tensors.items() if key != name}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            without(state(), "hidden.0.bias"),
            "'hidden.0.bias' should be [128], but the file has no such tensor",
        ),
        (
            state() | {"convolutions.0.weight": torch.zeros(16, 3, 3, 3)},
            "'convolutions.0.weight' should be [16, 1, 3, 3], but the file has [16, 3, 3, 3]",
        ),
        (state() | {"head.weight": torch.zeros(3, 64)}, "'head.weight' should be [3, 128], but the file has"),
        (without(state(), "head.bias"), "'head.bias' should be [3], but the file has no such tensor"),
        (
            without(state(), "head.weight"),
            "'head.weight' should be [3, 128], but the file has no such tensor",
        ),
        (without(state(classes=10), "head.weight"), "'head.weight' should be [3, 128], but the file has no"),
        (state() | {"head.bias": torch.zeros(10)}, "'head.bias' should be [3], but the file has [10]"),
        (
            state() | {"head.weight": torch.zeros(10, 128)},
            "'head.weight' should be [3, 128], but the file has [10, 128]",
        ),
        (state() | {"fc.weight": torch.zeros(3, 128)}, "the network has no 'fc.weight'"),
        (state() | {"layer9.weight": torch.zeros(1)}, "the network has no 'layer9.weight'"),
    ],
)
def test_what_does_not_fit_is_named(found: State, message: str) -> None:
    with pytest.raises(InputError) as caught:
        with_pretrained(state(), weights(found))
    assert message in str(caught.value)
    assert "theirs.safetensors" in str(caught.value)


def test_a_deeper_networks_weights_do_not_pass_for_a_shallower_ones() -> None:
    with pytest.raises(InputError, match=r"the network has no 'layer1\.2\.bn1\.bias'"):
        with_pretrained(state(name="resnet-18"), weights(state(name="resnet-34")))


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("ran"),))  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["w.pth", "w.PT", "w.bin", "w.safetensors"])
def test_a_pickle_is_refused_unopened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(pickle.dumps(Hostile()))
    message = (
        "is not a safetensors file" if name.endswith("safetensors") else r"weights_only=True.*w\.safetensors"
    )
    with pytest.raises(InputError, match=message):
        read_weights_file(name)
    assert not Path("ran").exists()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_weights_file(tmp_path / "none.safetensors")
    with pytest.raises(InputError, match="is a directory"):
        read_weights_file(tmp_path)
    path = tmp_path / "cut.safetensors"
    save_file(state(), path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputError, match="or a damaged one"):
        read_weights_file(path)
