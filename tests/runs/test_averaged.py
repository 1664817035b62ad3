"""Averages in the run's folder: written with the run, read when asked for, never invented."""

from pathlib import Path

import numpy as np
import pytest

from noiselimit.data.examples import DataSet
from noiselimit.errors import InputError
from noiselimit.runs.folder import load_run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import train

SPEC = RunSpec("limit-l", epochs=2, noise="uniform:0.3")  # type: ignore[arg-type]


def test_a_folder_keeps_the_averages_and_a_found_run_has_them(blobs: DataSet, tmp_path: Path) -> None:
    specs = [SPEC, *grid(method="ce", epochs=2)]
    in_memory = train(specs, blobs, device="cpu", averaged=True)
    train(specs, blobs, device="cpu", averaged=True, out=tmp_path)
    for run, found in zip(
        in_memory, train(specs, blobs, device="cpu", averaged=True, out=tmp_path), strict=True
    ):
        assert found.path is not None
        for again in (found, load_run(found.path)):
            assert again.averaged is not None
            assert run.averaged is not None
            assert np.array_equal(again.averaged.index, run.averaged.index)
            assert np.array_equal(again.averaged.classifier, run.averaged.classifier)
            assert (again.averaged.predictor is None) == (run.spec.method == "ce")
            if run.averaged.predictor is not None:
                assert np.array_equal(again.averaged.predictor, run.averaged.predictor)


def test_a_found_run_without_averages_is_refused_only_where_they_are_asked_for(
    blobs: DataSet, tmp_path: Path
) -> None:
    plain = train(SPEC, blobs, device="cpu", out=tmp_path)[0]
    assert plain.averaged is None
    assert train(SPEC, blobs, device="cpu", out=tmp_path)[0].path == plain.path
    with pytest.raises(InputError, match=r"without averaged probabilities: delete it"):
        train(SPEC, blobs, device="cpu", out=tmp_path, averaged=True)


def test_a_found_run_that_ended_before_its_second_half_is_no_offence(blobs: DataSet, tmp_path: Path) -> None:
    early = RunSpec("ce", epochs=1000, patience=1, learning_rate=1e-9)
    failing = RunSpec("ce", epochs=2, learning_rate=1e30, optimiser="sgd")
    for _ in range(2):
        runs = train([early, failing], blobs, device="cpu", out=tmp_path, averaged=True)
        assert [run.averaged for run in runs] == [None, None]


@pytest.mark.parametrize("damage", [b"", b"no tensors", None])
def test_a_damaged_file_gets_a_sentence(blobs: DataSet, tmp_path: Path, damage: bytes | None) -> None:
    run = train(SPEC, blobs, device="cpu", out=tmp_path, averaged=True)[0]
    assert run.path is not None
    file = run.path / "averaged.safetensors"
    file.write_bytes((run.path / "weights.safetensors").read_bytes() if damage is None else damage)
    with pytest.raises(InputError, match=r"averaged\.safetensors cannot be read: .* train the run again\.$"):
        _ = load_run(run.path).averaged
