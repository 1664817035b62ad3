"""CIFAR-10N's labels beside CIFAR-10, in the files there are of them, and their order."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from noiselimit.data.cifar10n import holds_cifar10n

from noiselimit.data import cifar10n as module
from noiselimit.data.catalogue import load_data
from noiselimit.errors import InputError

KEYS = ("aggre_label", "random_label1", "random_label2", "random_label3", "worse_label")


def write_npz(folder, labels):
    np.savez(folder / "cifar10n.npz", **labels)


def write_pt(folder, labels, name="CIFAR-10_human/data.pkl"):
    """What torch.save makes of a dictionary of NumPy arrays."""
    with zipfile.ZipFile(folder / "CIFAR-10_human.pt", "w") as archive:
        archive.writestr(name, pickle.dumps(labels, 2))
        archive.writestr("CIFAR-10_human/version", "3\n")


@pytest.fixture
def folder(tmp_path, write_cifar10):
    """A data folder with CIFAR-10 and the still empty folder of CIFAR-10N."""
    write_cifar10(tmp_path / "cifar-10-batches-bin")
    (tmp_path / "cifar-10n").mkdir()
    return tmp_path


@pytest.fixture
def labels(folder):
    clean = load_data("cifar10", folder).examples.labels
    given = {key: (clean + number) % 10 for number, key in enumerate(KEYS)}
    return {"clean_label": clean, **given}


@pytest.mark.parametrize("write", [write_npz, write_pt])
def test_label_sets(folder, labels, write):
    write(folder / "cifar-10n", labels)
    data = load_data("cifar10n", folder)
    assert data.name == "cifar10n"
    assert list(data.examples.label_sets) == ["aggre", "rand1", "rand2", "rand3", "worst"]
    for number, given in enumerate(data.examples.label_sets.values()):
        assert np.array_equal(given, (data.examples.labels + number) % 10)
    plain = load_data("cifar10", folder)
    assert np.array_equal(data.examples.labels, plain.examples.labels)
    assert np.array_equal(data.examples.inputs, plain.examples.inputs)
    assert data.test is not None
    assert plain.test is not None
    assert data.test.fingerprint == plain.test.fingerprint
    assert data.defaults == plain.defaults
    assert plain.examples.label_sets == {}
    assert data.fingerprint != plain.fingerprint


@pytest.mark.parametrize("pictures", ["cifar10n", "cifar10", "."])
def test_cifar10_is_found_in_the_folder_or_beside_it(tmp_path, write_cifar10, pictures):
    _, clean = write_cifar10(tmp_path / pictures / "cifar-10-batches-bin")
    (tmp_path / "cifar10n").mkdir(exist_ok=True)
    write_npz(tmp_path / "cifar10n", {"clean_label": clean, **dict.fromkeys(KEYS, clean)})
    assert holds_cifar10n(tmp_path / "cifar10n")
    assert len(load_data("cifar10n", tmp_path).examples) == 60


def test_what_lacks_either_part(folder, labels):
    assert not holds_cifar10n(folder)
    write_npz(folder / "cifar-10n", labels)
    assert holds_cifar10n(folder)
    (folder / "cifar-10-batches-bin" / "data_batch_1.bin").unlink()
    assert not holds_cifar10n(folder)
    with pytest.raises(InputError, match=r"^cifar10n: its files are neither in"):
        load_data("cifar10n", folder)
    with pytest.raises(InputError, match="or CIFAR-10 is not here"):
        module.read_cifar10n(folder)


@pytest.mark.parametrize("write", [write_npz, write_pt])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda labels: labels | {"clean_label": labels["clean_label"][::-1]}, "clean label in row 0 is"),
        (
            lambda labels: labels | {"clean_label": labels["clean_label"][1:]},
            r"\[59\] do not go with 60",
        ),
        (lambda labels: labels | {"worse_label": labels["worse_label"] + 1}, "worst label in row .* is 10"),
        (lambda labels: labels | {"worse_label": labels["worse_label"][1:]}, "59 worst labels"),
        (lambda labels: {key: labels[key] for key in KEYS}, "there is no array 'clean_label'"),
    ],
)
def test_labels_that_do_not_fit(folder, labels, write, change, sentence):
    write(folder / "cifar-10n", change(labels))
    with pytest.raises(InputError, match=sentence):
        load_data("cifar10n", folder)


@pytest.mark.parametrize("name", ["cifar10n.npz", "CIFAR-10_human.pt"])
@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PK\x03\x04", pickle.dumps({})])
def test_damaged_files(folder, name, content):
    (folder / "cifar-10n" / name).write_bytes(content)
    with pytest.raises(
        InputError, match=r"of another kind; fetch it again|cannot be read as a NumPy archive"
    ):
        load_data("cifar10n", folder)


def test_other_zip_files(folder, labels):
    write_pt(folder / "cifar-10n", labels, name="else")
    with pytest.raises(InputError, match="of another kind"):
        load_data("cifar10n", folder)
    write_pt(folder / "cifar-10n", [1])
    with pytest.raises(InputError, match="there is no array 'clean_label'"):
        load_data("cifar10n", folder)


def test_tensorflows_order_is_refused(folder, labels):
    np.save(folder / "cifar-10n" / "CIFAR-10_human_ordered.npy", labels, allow_pickle=True)
    with pytest.raises(InputError, match=r"order of TensorFlow's copy .* take CIFAR-10_human\.pt from"):
        load_data("cifar10n", folder)


class Runs:
    def __reduce__(self):
        return os.system, ("touch marker",)


def test_nothing_in_a_file_of_torch_runs(folder, labels, monkeypatch):
    monkeypatch.chdir(folder)
    write_pt(folder / "cifar-10n", labels | {"more": Runs()})
    with pytest.raises(InputError, match=r"CIFAR-10_human\.pt: refused because it holds the name"):
        load_data("cifar10n", folder)
    assert not (folder / "marker").exists()


def test_the_real_labels_have_the_published_noise_rates():
    folder = Path(os.environ.get("NOISELIMIT_DATA", "data"))
    if not holds_cifar10n(folder):
        pytest.skip("CIFAR-10N is absent: set NOISELIMIT_DATA to the folder that has it")
    examples = load_data("cifar10n", folder).examples
    rates = {name: float((given != examples.labels).mean()) for name, given in examples.label_sets.items()}
    published = {"aggre": 0.0903, "rand1": 0.1723, "rand2": 0.1812, "rand3": 0.1764, "worst": 0.4021}
    assert rates == pytest.approx(published, abs=5e-4)
