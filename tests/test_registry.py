"""An installed package adds a method, noise, network, data format and features; so does a program."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noiselimit import InputError, LimitClassifier, RunSpec, find_label_issues, grid, load_run, train
from noiselimit.data.catalogue import load_data
from noiselimit.data.examples import DataSet, Examples
from noiselimit.errors import Notice
from noiselimit.features import FEATURES
from noiselimit.methods import METHODS, Batch, Method
from noiselimit.methods.method import log_likelihood
from noiselimit.noise import NOISES, Noise, as_noise

TEXTS = [
    f"{text} {n}" for n in range(30) for text in ("a short one", "another sentence that goes on, number")
]

ENTRIES = """
[noiselimit.methods]
acme-loss = acme:LOSS
acme-broken = acme_missing:LOSS
acme-wrong = acme:Swap
[noiselimit.noises]
acme-swap = acme:Swap
[noiselimit.networks]
acme-net = acme:Net
[noiselimit.formats]
.acme = acme:FORMAT
[noiselimit.features]
acme-features = acme:embed
"""
PACKAGE = '''
"""A package of somebody else."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from noiselimit.data.catalogue import Source
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.methods import Method
from noiselimit.methods.method import log_likelihood
from noiselimit.noise.base import ProbabilityNoise


def loss(batch, hyper):
    return -batch.mean(log_likelihood(batch.logits, batch.labels)) * (1 + hyper["strength"])


LOSS = Method("acme-loss", loss, {"strength": 2.0}, {"strength": "How strong it is."})


@dataclass(frozen=True)
class Swap(ProbabilityNoise):
    kind: ClassVar[str] = "acme-swap"

    def draw(self, examples, seed):
        drawn = np.random.default_rng(seed).random(len(examples)) < self.probability
        return np.where(drawn, (examples.labels + 1) % examples.classes, examples.labels)


def Net(input_shape, classes):
    from torch import nn

    return nn.Sequential(nn.Linear(*input_shape, 8), nn.ReLU(), nn.Linear(8, classes))


def read(path, reading):
    rows = np.loadtxt(path)
    return DataSet(path.stem, make_examples(rows[:, :-1], rows[:, -1].astype(int)))


FORMAT = Source(read)


def embed(texts):
    return np.array([[len(text), text.count("e"), text.count("o")] for text in texts], float)
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder in which pip would have installed it."""
    info = tmp_path / "site" / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(ENTRIES, "utf-8")
    (info.parent / "acme.py").write_text(PACKAGE, "utf-8")
    return info.parent


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(package))
    yield
    sys.modules.pop("acme", None)


def test_the_command_line_takes_all_that_a_package_adds(
    package: Path, blobs: DataSet, tmp_path: Path
) -> None:
    rows = np.column_stack([blobs.examples.inputs, blobs.examples.labels])
    np.savetxt(tmp_path / "blobs.acme", rows)
    source = Path(__file__).parents[1] / "src"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{package}"}

    def noiselimit(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "noiselimit", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    done = noiselimit(
        *("train", "--data", "blobs.acme", "--method", "acme-loss", "--strength", "1,3", "--threads", "1"),
        *("--noise", "acme-swap:0.3", "--network", "acme-net", "--epochs", "2", "--out", "runs", "--quiet"),
    )
    assert done.returncode == 0, done.stderr
    folders = sorted((tmp_path / "runs").glob("acme-loss-strength*"))
    assert len(folders) == 2
    assert noiselimit("predict", str(folders[0]), "blobs.acme").returncode == 0
    with pytest.warns(Notice) as notices:
        run = load_run(folders[0])
    assert len(notices) == 3
    assert run.history
    assert run.metrics["status"] == "finished"
    with pytest.raises(InputError, match="'acme-net' is not known here"):
        _ = run.model
    with pytest.raises(InputError, match="'acme-swap' is not known here"):
        train(RunSpec(noise=run.spec.noise), blobs)


@pytest.mark.usefixtures("installed")
def test_a_package_is_used_by_name_in_python(blobs: DataSet, tmp_path: Path) -> None:
    (run,) = train(grid(method="acme-loss", noise="acme-swap:0.3", epochs=1), blobs, out=tmp_path / "runs")
    assert run.spec.hyper == {"strength": 2.0}
    assert run.path is not None
    assert load_run(run.path).spec == run.spec
    with pytest.warns(Notice, match="embedded by acme-features"):
        issues = find_label_issues(TEXTS, [0, 1] * 30, features="acme-features", threads=1)
    assert len(issues) == 60


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("acme-broken", "package 'acme' cannot be imported .*acme_missing"),
        ("acme-wrong", "must be a noiselimit.methods.Method"),
        ("acme-lost", "did you mean 'acme-loss'"),
    ],
)
def test_what_a_package_has_wrong_is_said_when_it_is_used(method: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        RunSpec(method)
    assert "acme-loss" in [each.name for each in METHODS.working()]


def _loss(batch: Batch, hyper: Any) -> Any:
    return -batch.mean(log_likelihood(batch.logits, batch.labels)) * hyper["power"]


OWN_METHOD = Method("own-loss", _loss, {"power": 1.0})


@dataclass(frozen=True)
class OwnNoise(Noise):
    """Not registered, but in a module."""

    kind = "own-noise"
    share: float

    @property
    def parameter(self) -> float:
        return self.share

    def draw(self, examples: Examples, seed: int) -> Any:
        return (examples.labels + (np.arange(len(examples)) < self.share * len(examples))) % examples.classes


@pytest.mark.parametrize("drawn", [["a"] * 151, [0, 1], [3] * 151, [0.5] * 151])
def test_a_noise_must_draw_one_class_per_example(drawn: Any, blobs: DataSet) -> None:
    class Bad(OwnNoise):
        def draw(self, examples: Examples, seed: int) -> Any:
            return drawn

    with pytest.raises(InputError, match="0 … 2"):
        Bad(0.3).apply(blobs.examples, 0)


class Forgetful(OwnNoise):
    @classmethod
    def from_parameter(cls, parameter: object) -> "Forgetful":
        return cls(0.0)


def test_objects_are_used_as_they_are(blobs: DataSet, tmp_path: Path) -> None:
    (run,) = train(grid(method=OWN_METHOD, power=2, epochs=1, seed=3), blobs)
    assert run.spec.hyper == {"power": 2.0}
    LimitClassifier(OWN_METHOD, epochs=1).fit(blobs.examples.inputs, blobs.examples.labels)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"'own-loss' .*METHODS"):
        train(run.spec, blobs, out=tmp_path)
    with pytest.raises(InputError, match="predictor_features 'lambda'"):
        train(RunSpec(predictor_features=lambda shape: None), blobs, out=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="could not be loaded again"):
        train(RunSpec(noise=Forgetful(0.3)), blobs, out=tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_a_dotted_path_is_imported_only_if_the_run_is_trusted(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "my_code", sys.modules[__name__])
    (run,) = train(RunSpec("my_code.OWN_METHOD", noise=OwnNoise(0.3), epochs=1), blobs, out=tmp_path / "runs")
    assert run.path is not None
    assert as_noise(f"{OwnNoise.__module__}.OwnNoise:0.3") == run.spec.noise
    trusted, other = load_run(run.path, trusted=True), load_run(run.path)
    assert trusted.spec == run.spec
    assert list(other.history) == list(run.history)
    with pytest.raises(InputError, match="not known here"):
        other.spec.noise.apply(blobs.examples, 0)


def test_a_folder_with_the_name_of_a_run_imports_nothing(blobs: DataSet, tmp_path: Path) -> None:
    (run,) = train(RunSpec("ce", epochs=1), blobs, out=tmp_path)
    assert run.path is not None
    spec = run.path / "spec.json"
    spec.write_text(spec.read_text("utf-8").replace('"ce"', '"this:evil"'), "utf-8")
    assert '"this:evil"' in spec.read_text("utf-8")
    with pytest.raises(InputError, match="different run"):
        train(run.spec, blobs, out=tmp_path)
    assert "this" not in sys.modules


def test_a_program_registers_what_it_has(
    blobs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in (METHODS, NOISES, FEATURES):
        monkeypatch.setattr(table, "_added", {})
    METHODS.register("own-loss", OWN_METHOD)
    NOISES.register("own-noise", OwnNoise)
    (run,) = train(RunSpec(OWN_METHOD, noise="own-noise:0.2", epochs=1), blobs, out=tmp_path)  # type: ignore[arg-type]
    assert run.path is not None
    assert run.path.name.startswith("own-loss-power1-")
    assert load_run(run.path).spec == run.spec
    with pytest.raises(InputError, match="must be a function"):
        FEATURES.register("mine", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="taken"):
        METHODS.register("ce", OWN_METHOD)
    for name in ("two words", 3):
        with pytest.raises(InputError, match="letters"):
            METHODS.register(name, OWN_METHOD)  # type: ignore[arg-type]


def test_features_can_be_a_function() -> None:
    count = lambda found: [[len(text), text.count("e")] for text in found]  # noqa: E731
    with pytest.warns(Notice, match="embedded by lambda"):
        issues = find_label_issues(TEXTS, [0, 1] * 30, features=count, threads=1)  # type: ignore[arg-type]
    assert len(issues) == 60
    with pytest.raises(InputError, match="unknown format"):
        load_data(__file__)
