"""Options are generated from the dataclasses and methods that they fill."""

import dataclasses
import subprocess
import sys
from typing import Any

import pytest
import typer

from noiselimit.cli import options
from noiselimit.cli.main import app
from noiselimit.cli.options import Cluster, columns, several
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.integrations.clusters import Ray, Slurm
from noiselimit.methods import METHODS
from noiselimit.noise import parse_noise
from noiselimit.runs.spec import RunSpec

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
TRAIN = {parameter.name: parameter for parameter in COMMANDS["train"].params}
FIELDS = [each.name for each in dataclasses.fields(RunSpec) if each.name not in ("hyper", "data", "parent")]
HYPER = sorted({(name, method.name) for method in METHODS.values() for name in method.hyper})
OTHER_VALUES = {
    "method": "ce", "noise": "uniform:0.5", "network": "mlp", "predictor_network": "mlp", "optimiser": "sgd",
    "schedule": "cosine", "precision": "bfloat16", "validation_labels": "clean", "augmentation": "flip",
    "predictor_features": "a.b:c", "sampler": "balanced", "transition": "uniform:0.5", "batch_norm": "local",
}  # fmt: skip
"""Values other than the defaults; for numbers 0.5 or 7."""
COMPANIONS = {
    "transition": ("--method", "fw"),
    "parent_learning_rate": ("--method", "fw"),
    "parent_epochs": ("--method", "fw"),
    "momentum": ("--optimiser", "sgd"),
}


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@pytest.fixture
def specs(command, table, monkeypatch):
    """The specs that a command line would train."""

    def planned(*arguments: str) -> list[RunSpec]:
        caught = []

        def no_training(specs, examples, **settings):
            caught.extend(specs)
            raise InputError("caught.")

        monkeypatch.setattr("noiselimit.training.train", no_training)
        assert command("train", "--data", table, *arguments).err == "noiselimit: caught.\n"
        return caught

    return planned


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "initial_weights"])
def test_every_field_of_a_spec_is_an_option(specs, name):
    whole = "whole" in RunSpec.__dataclass_fields__[name].metadata
    typed = OTHER_VALUES.get(name, "7" if whole else "0.5")
    [spec] = specs(*COMPANIONS.get(name, ()), flag(name), typed)
    value = getattr(spec, name)
    assert value != getattr(RunSpec(), name)
    assert value == (parse_noise(typed) if "uniform" in typed else type(value)(typed))


@pytest.mark.parametrize(("name", "method"), HYPER)
def test_every_hyper_parameter_is_an_option_with_its_default(specs, name, method):
    several = specs("--method", method, flag(name), "0.125, 0.25")
    assert [spec.hyper[name] for spec in several] == [0.125, 0.25]
    assert f"{METHODS[method].hyper[name]:g}" in TRAIN[name].help


def test_a_new_hyper_parameter_becomes_an_option_by_itself(monkeypatch):
    new = dataclasses.replace(METHODS["gce"], name="new", hyper={"new_one": 3.0}, help={})
    monkeypatch.setattr(METHODS, "_added", {"new": new})
    [found] = [each for each in options.run_options().parameters if each.name == "new_one"]
    assert "[default: 3]" in str(found.annotation.__metadata__[0].help)


def test_a_hyper_parameter_may_have_the_name_of_an_option(monkeypatch):
    new = dataclasses.replace(METHODS["gce"], name="new", hyper={"weight": 3.0, "out": 1.0}, help={})
    monkeypatch.setattr(METHODS, "_added", {"new": new})
    found = options.run_options()
    assert {"hyper_weight", "hyper_out"} <= {each.name for each in found.parameters}
    assert found.build(hyper_weight="1,2", hyper_out=None) == {"weight": ["1", "2"]}


NO_OPTIONS = {"features_side", "keep_unlabelled", "cache", "progress"}


@pytest.mark.parametrize(("name", "others"), [("train", {"task"}), ("audit", set())])
def test_every_field_of_a_reading_is_an_option(name, others):
    typed = {parameter.name for parameter in COMMANDS[name].params}
    assert {each.name for each in dataclasses.fields(Reading)} - typed == NO_OPTIONS | others


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from noiselimit.cli.main import run; run(['train', '--help']); "
        "print({'torch', 'pandas', 'sklearn', 'rich'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "set()"


def test_several_values_and_columns():
    assert several("beta", " 1, 10") == ["1", "10"]
    assert columns("--ignore", None) == ()
    assert columns("--ignore", 'id, "name, first",a b') == ("id", "name, first", "a b")


@pytest.mark.parametrize("parse", [several, columns])
@pytest.mark.parametrize("text", ["", ",", "a,", "a,,b"])
def test_empty_values_are_refused(parse, text):
    with pytest.raises(InputError, match="beta"):
        parse("beta", text)


def test_options_of_clusters() -> None:
    assert Cluster().make_engine() is None
    made = Cluster(engine="ray", address="auto", tasks=4, upload="memory://runs").make_engine()
    assert isinstance(made, Ray)
    assert (made.address, made.tasks, made.upload) == ("auto", 4, "memory://runs")
    made = Cluster(engine="slurm", slurm="slurm_partition=gpu,timeout_min=60").make_engine()
    assert isinstance(made, Slurm)
    assert made.options == {"slurm_partition": "gpu", "timeout_min": 60}
    for wrong in (
        Cluster(address="auto"),
        Cluster(tasks=2),
        Cluster(engine="slurm", address="auto"),
        Cluster(engine="ray", slurm="mem_gb=4"),
        Cluster(engine="rays"),
    ):
        with pytest.raises(InputError, match="engine"):
            wrong.make_engine()
