"""A training that was broken off goes on and ends, bit by bit, as one that never was."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from broken_off import Broken, assert_same_run, train_broken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.engine.checkpoint_file import read_entries
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec, grid
from noiselimit.training import Progress, train

EVERYTHING = 10**9


def specs_of_every_kind() -> list[RunSpec]:
    """Methods with and without predictor, parents, matrices and draws; mixed lengths, patience and rates."""
    shared = {"network": "small-cnn", "batch_size": 17, "noise": "uniform:0.4", "dropout": 0.2}
    varied = {**shared, "augmentation": "flip-crop"}
    methods = ["ce", "limit-l", "limit-g+s", "fw", "limit-l+init"]
    mixed = grid(method=methods, beta=[3], sigma=[0.1], epochs=4, **varied)
    short = grid(method=["limit-l", "ce"], beta=[10], seed=1, epochs=3, patience=1, **varied)
    decayed = {"optimiser": "sgd", "learning_rate": 0.01, "schedule": "cosine", "weight_decay": 0.01}
    others = grid(method=["limit-g", "dmi"], beta=[1], epochs=3, **decayed, **shared)
    failing = [replace(others[0], learning_rate=1e30, epochs=4)]
    return mixed + short + others + failing


@pytest.fixture(scope="module")
def data(tiny_images: DataSet) -> DataSet:
    """With weights of examples."""
    examples = tiny_images.examples
    weights = np.random.default_rng(5).uniform(0.2, 2, len(examples))
    return DataSet("weighted", make_examples(np.asarray(examples.inputs), examples.labels, weights=weights))


@pytest.fixture(scope="module")
def undisturbed(data: DataSet) -> list[Run]:
    return train(specs_of_every_kind(), data, device="cpu", threads=1, averaged=True)


def test_the_undisturbed_runs_are_of_every_kind(undisturbed: list[Run]) -> None:
    assert sum(run.failed for run in undisturbed) == 1
    assert any(len(run.history) < run.spec.epochs for run in undisturbed if not run.failed)
    assert any(run.averaged is not None and run.averaged.predictor is not None for run in undisturbed)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stops=st.lists(st.tuples(st.integers(0, 14), st.integers(1, 3)), min_size=1, max_size=3),
    order=st.permutations(range(len(specs_of_every_kind()))),
    threads=st.integers(1, 3),
)
def test_broken_off_anywhere_and_often_it_ends_the_same(
    data: DataSet, undisturbed: list[Run], stops: list[tuple[int, int]], order: list[int], threads: int
) -> None:
    """With other blocks, another order and other company from call to call."""
    specs = specs_of_every_kind()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for number, (after, blocks) in enumerate(stops):
            wanted = specs[: len(specs) - number]
            train_broken(wanted, data, out, after, threads=blocks, averaged=True)
        runs, _ = train_broken(
            [specs[i] for i in order], data, out, EVERYTHING, threads=threads, averaged=True
        )
        assert runs is not None
        for i, run in zip(order, runs, strict=True):
            assert_same_run(undisturbed[i], run)
        names = {path.name for path in out.iterdir()}
        assert {run.spec.folder_name for run in runs} <= names
        assert ".checkpoints" not in names


def test_runs_that_start_from_others_go_on_too(data: DataSet, undisturbed: list[Run], tmp_path: Path) -> None:
    """With the matrix that was estimated, or the weights that were taken over, at their beginning."""
    everybody = specs_of_every_kind()
    chosen = [i for i, spec in enumerate(everybody) if spec.method in ("fw", "dmi", "limit-l+init")]
    specs = [everybody[i] for i in chosen]

    def breaking_children(news: Progress) -> None:
        if news.record is not None and news.spec.parent is not None and news.record["epoch"] == 3:
            raise Broken

    with pytest.raises(Broken):
        train(
            specs,
            data,
            out=tmp_path,
            device="cpu",
            threads=1,
            averaged=True,
            checkpoints=0,
            progress=breaking_children,
        )
    runs, said = train_broken(specs, data, tmp_path, EVERYTHING, averaged=True)
    assert said == ["2 of 5 runs go on from epoch 2."]  # the third is of another cohort, which had not begun
    assert runs is not None
    for i, run in zip(chosen, runs, strict=True):
        assert_same_run(undisturbed[i], run)


def test_it_says_where_it_goes_on_and_counts_what_is_there(blobs: DataSet, tmp_path: Path) -> None:
    specs = [RunSpec("ce", epochs=epochs, batch_size=16, network="linear") for epochs in (2, 6, 7)]
    broken, said = train_broken(specs, blobs, tmp_path, after=2 + 2 * 4)
    assert broken is None
    assert not said
    heard: list[Progress] = []
    with pytest.warns(UserWarning, match=r"^2 of 3 runs go on from epoch 4\.$"):
        train(specs, blobs, out=tmp_path, device="cpu", threads=1, progress=heard.append)
    assert [news.done for news in heard[:4]] == [2, 2 + 4, 2 + 4 + 4, 2 + 5 + 4]
    assert heard[-1].done == heard[-1].total == 15
    assert min(int(news.record["epoch"] or 0) for news in heard if news.record is not None) == 5


def test_seconds_of_all_calls_are_added_up(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=4, batch_size=16, network="linear")
    train_broken([spec], blobs, tmp_path, after=3)
    entries = [read_entries(path) for path in (tmp_path / ".checkpoints").iterdir()]
    before = max(entry.seconds for each in entries for entry in each.values())
    assert before > 0
    runs, _ = train_broken([spec], blobs, tmp_path, EVERYTHING)
    assert runs is not None
    assert runs[0].metrics["cohort_seconds"] > before


def test_other_runs_keep_their_checkpoints(blobs: DataSet, tmp_path: Path) -> None:
    first, second = (RunSpec("ce", epochs=5, seed=seed, batch_size=16, network="linear") for seed in (0, 1))
    train_broken([first], blobs, tmp_path, after=3)
    runs, said = train_broken([second], blobs, tmp_path, EVERYTHING)
    assert runs is not None
    assert said == [
        f"training starts anew: {tmp_path / '.checkpoints'} holds states of another run alone, "
        "with other settings or data."
    ]
    assert (tmp_path / ".checkpoints").is_dir()
    _, said = train_broken([first, second], blobs, tmp_path, EVERYTHING)
    assert said == ["1 of 2 runs go on from epoch 3."]
    assert not (tmp_path / ".checkpoints").exists()


def test_off_means_that_none_are_written_or_used(blobs: DataSet, tmp_path: Path) -> None:
    spec = RunSpec("ce", epochs=5, batch_size=16, network="linear")
    train_broken([spec], blobs, tmp_path, after=3, checkpoints="off")
    assert not (tmp_path / ".checkpoints").exists()
    train_broken([spec], blobs, tmp_path, after=3)
    before = sorted((tmp_path / ".checkpoints").iterdir())
    runs, said = train_broken([spec], blobs, tmp_path, EVERYTHING, checkpoints="off")
    assert runs is not None
    assert not said
    assert sorted((tmp_path / ".checkpoints").iterdir()) == before


def test_without_averages_a_state_of_the_second_half_is_no_use_to_who_wants_them(
    blobs: DataSet, tmp_path: Path
) -> None:
    spec = RunSpec("ce", epochs=6, batch_size=16, network="linear")
    (whole,) = train(spec, blobs, device="cpu", threads=1, averaged=True)
    train_broken([spec], blobs, tmp_path, after=4)
    runs, said = train_broken([spec], blobs, tmp_path, EVERYTHING, averaged=True)
    assert said == ["1 of 1 runs go on from epoch 3."]  # the older one, whose sums would be empty
    assert runs is not None
    assert_same_run(whole, runs[0])


def test_states_of_no_use_push_out_none_of_use(blobs: DataSet, tmp_path: Path) -> None:
    """Those without averages are of later epochs, but the call that averages cannot go on from them."""
    spec = RunSpec("ce", epochs=12, batch_size=16, network="linear")
    (whole,) = train(spec, blobs, device="cpu", threads=1, averaged=True)
    place = tmp_path / ".checkpoints"

    def epochs() -> list[int]:
        return sorted(int(path.name.split("-")[1]) for path in place.iterdir())

    train_broken([spec], blobs, tmp_path, after=10)
    _, said = train_broken([spec], blobs, tmp_path, after=3, averaged=True)
    assert said == [
        f"1 of 1 runs start anew: their checkpoints in {place} lack the averages of probabilities that "
        "this call asks for."
    ]
    assert epochs() == [2, 3, 9, 10]
    _, said = train_broken([spec], blobs, tmp_path, after=5, averaged=True)
    assert said == ["1 of 1 runs go on from epoch 3."]
    assert epochs() == [7, 8, 9, 10]
    train_broken([RunSpec("ce", epochs=2, network="linear")], blobs, tmp_path, after=1)
    assert len(epochs()) == 5, "who trains another run leaves these alone"
    runs, said = train_broken([spec], blobs, tmp_path, EVERYTHING, averaged=True)
    assert said == ["1 of 1 runs go on from epoch 8."]
    assert runs is not None
    assert_same_run(whole, runs[0])
    assert epochs() == [1]


def test_what_breaks_it_off_reaches_the_caller(blobs: DataSet, tmp_path: Path) -> None:
    def complain(news: Progress) -> None:
        raise Broken

    with pytest.raises(Broken):
        train(RunSpec("ce", epochs=2), blobs, out=tmp_path, checkpoints=0, progress=complain)
