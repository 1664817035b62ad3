"""What a user may type for a data set, and what is said when it cannot be had."""

import numpy as np
import pytest

from noiselimit.data import catalogue as sources
from noiselimit.data.catalogue import load_data, load_inputs
from noiselimit.errors import InputError


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("NOISELIMIT_DATA", raising=False)


@pytest.fixture
def archive(tmp_path):
    np.savez(tmp_path / "toys.npz", X=np.arange(8.0).reshape(4, 2), y=[0, 1, 0, 1])
    return tmp_path / "toys.npz"


def test_every_name_without_files_loads():
    embedded = [name for name, entry in sources.DATA_SETS.items() if not isinstance(entry, sources.Stored)]
    assert "digits" in embedded
    assert [load_data(name).name for name in embedded] == embedded


@pytest.mark.parametrize("below", ["mnist", "."])
@pytest.mark.parametrize("by_variable", [True, False])
def test_stored_data_are_found_below_the_folder_or_in_it(
    tmp_path, monkeypatch, write_idx_folder, below, by_variable
):
    images, _ = write_idx_folder(tmp_path / below)
    if by_variable:
        monkeypatch.setenv("NOISELIMIT_DATA", str(tmp_path))
    data = load_data("mnist", None if by_variable else tmp_path)
    assert data.name == "mnist"
    assert np.array_equal(data.examples.inputs[:, 0], images)


def test_the_option_wins_over_the_variable(tmp_path, monkeypatch, write_idx_folder):
    write_idx_folder(tmp_path / "variable")
    monkeypatch.setenv("NOISELIMIT_DATA", str(tmp_path / "variable"))
    with pytest.raises(InputError, match=f"neither in {tmp_path}/option/mnist nor in {tmp_path}/option;"):
        load_data("mnist", tmp_path / "option")


@pytest.mark.parametrize("data_dir", [None, "."])
def test_missing_data_name_all_three_remedies(tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^mnist: .*--data-dir or NOISELIMIT_DATA.*--download"):
        load_data("mnist", data_dir)


def test_download_fills_the_folder_of_that_name_or_completes_the_one_there_is(
    tmp_path, monkeypatch, write_idx_folder
):
    filled = []

    def download(folder, progress):
        filled.append((folder, progress))
        write_idx_folder(folder)

    entry = sources.DATA_SETS["mnist"]
    assert isinstance(entry, sources.Stored)
    monkeypatch.setitem(sources.DATA_SETS, "mnist", sources.Stored(entry.is_in, entry.read, download))
    assert len(load_data("mnist", tmp_path, download=True, progress=print).examples) == 12
    assert len(load_data("mnist", tmp_path / "mnist", download=True).examples) == 12
    assert filled == [(tmp_path / "mnist", print), (tmp_path / "mnist", None)]


def test_paths(tmp_path, archive, write_idx_folder):
    write_idx_folder(tmp_path / "shapes")
    assert load_data(archive).name == "toys"
    assert load_data(str(tmp_path / "shapes")).name == "shapes"


def test_a_folder_of_its_own_does_not_hide_a_known_name(tmp_path, monkeypatch):
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(load_data("digits").examples) == 1797


@pytest.mark.parametrize("load", [load_data, load_inputs])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mnits", "^unknown data set 'mnits': did you mean 'mnist'"),
        ("quokka", "^unknown data set 'quokka': choose one of cifar10, "),
        ("absent.npz", r"^absent\.npz: there is no such file or folder; check the path"),
        ("some/where", "^some/where: there is no such file or folder"),
        ("table.xls", r"^table\.xls: data must be a folder or a file ending in"),
        ("empty", "^empty: there are neither idx files as MNIST has them nor class folders of pictures"),
        ("", "^unknown data set '': choose one of"),
    ],
)
def test_what_is_no_data_set(tmp_path, monkeypatch, load, text, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.xls").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=sentence):
        load(text)


def test_inputs_to_predict_for(tmp_path, archive, write_idx_folder):
    images, _ = write_idx_folder(tmp_path / "mnist")
    assert np.array_equal(load_inputs("mnist", tmp_path)[:, 0], images)
    assert np.array_equal(load_inputs(tmp_path / "mnist")[:, 0], images)
    assert np.array_equal(load_inputs(archive), np.arange(8.0).reshape(4, 2))
    np.savez(tmp_path / "unlabelled.npz", inputs=np.ones((3, 2)))
    assert np.array_equal(load_inputs(tmp_path / "unlabelled.npz"), np.ones((3, 2)))
