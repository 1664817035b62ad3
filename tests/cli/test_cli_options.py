"""Everything that describes a run can be typed: a new field or hyper-parameter needs its option."""

import dataclasses
import hashlib
import re
from pathlib import Path

import pytest
import safetensors.torch
import torch
import typer

from noiselimit.cli.main import app
from noiselimit.errors import InputError
from noiselimit.methods import METHODS
from noiselimit.networks.pretrained import WeightsFile
from noiselimit.noise import noise_to_json, parse_noise
from noiselimit.runs.spec import RunSpec

DEFAULTS = RunSpec()
FIELDS = [
    field.name for field in dataclasses.fields(RunSpec) if field.name not in ("hyper", "data", "parent")
]
HYPER = sorted({(name, method.name) for method in METHODS.values() for name in method.hyper})
EMPTY = safetensors.torch.save({"fc.bias": torch.zeros(2)})
EMPTY_DIGEST = hashlib.sha256(EMPTY).hexdigest()
# For every field a value that is not its default, as typed and as the spec has it.
OTHER_VALUES = {
    "method": ("ce", "ce"),
    "seed": ("7", 7),
    "noise": ("uniform:0.5", parse_noise("uniform:0.5")),
    "network": ("mlp", "mlp"),
    "predictor_network": ("mlp", "mlp"),
    "epochs": ("7", 7),
    "patience": ("7", 7),
    "batch_size": ("7", 7),
    "optimiser": ("sgd", "sgd"),
    "learning_rate": ("0.5", 0.5),
    "schedule": ("cosine", "cosine"),
    "weight_decay": ("0.5", 0.5),
    "momentum": ("0.5", 0.5),
    "precision": ("bfloat16", "bfloat16"),
    "validation_share": ("0.5", 0.5),
    "test_share": ("0.5", 0.5),
    "train_size": ("7", 7),
    "validation_labels": ("clean", "clean"),
    "initial_weights": ("w.safetensors", WeightsFile("w.safetensors", EMPTY_DIGEST)),
    "predictor_features": ("a.b:c", "a.b:c"),
    "dropout": ("0.5", 0.5),
    "augmentation": ("flip", "flip"),
    "sampler": ("balanced", "balanced"),
    "transition": ("uniform:0.5", parse_noise("uniform:0.5")),
    "parent_learning_rate": ("0.5", 0.5),
    "parent_epochs": ("7", 7),
}
# Settings that act only beside another.
COMPANIONS = {
    "transition": ("--method", "fw"),
    "parent_learning_rate": ("--method", "fw"),
    "parent_epochs": ("--method", "fw"),
    "momentum": ("--optimiser", "sgd"),
}
OPTIONS = {parameter.name: parameter for parameter in typer.main.get_command(app).commands["train"].params}


@pytest.fixture
def specs(command, table, monkeypatch):
    """The specs that a command line would train."""
    for name, content in (("w", EMPTY), ("v", safetensors.torch.save({"fc.bias": torch.ones(2)}))):
        Path(f"{name}.safetensors").write_bytes(content)

    def planned(*arguments: str) -> list[RunSpec]:
        caught = []

        def no_training(specs, examples, **settings):
            caught.extend(specs)
            raise InputError("caught.")

        monkeypatch.setattr("noiselimit.training.train", no_training)
        assert command("train", "--data", table, *arguments).err == "noiselimit: caught.\n"
        return caught

    return planned


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_of_a_spec_is_an_option_that_reaches_it(specs, name):
    typed, value = OTHER_VALUES[name]
    assert getattr(DEFAULTS, name) != value
    [spec] = specs(*COMPANIONS.get(name, ()), flag(name), typed)
    assert getattr(spec, name) == value


@pytest.mark.parametrize(("name", "method"), HYPER)
def test_every_hyper_parameter_is_an_option_that_reaches_it(specs, name, method):
    assert METHODS[method].hyper[name] != 0.125
    [spec] = specs("--method", method, flag(name), "0.125")
    assert spec.hyper[name] == 0.125


@pytest.mark.parametrize("name", [*FIELDS, *sorted({name for name, _ in HYPER})])
def test_every_such_option_takes_several_values(specs, name):
    other = OTHER_VALUES.get(name, ("0.125", None))[0]
    another = {
        "method": "limit-l",
        "noise": "none",
        "optimiser": "adam",
        "precision": "float32",
        "schedule": "constant",
        "augmentation": "crop",
        "sampler": "shuffled",
        "validation_labels": "given",
        "transition": "none",
        "predictor_features": "a.b:d",
        "initial_weights": "v.safetensors",
    }.get(name)
    another = another or ("mlp-4x512" if "network" in name else "0.25" if "." in other else "9")
    method = [] if name == "method" else ["--method", dict(HYPER).get(name, "limit-l")]
    beside = COMPANIONS.get(name, method)
    assert len(specs(*beside, flag(name), f"{other}, {another}")) == 2


@pytest.mark.parametrize("name", FIELDS)
def test_help_states_the_default_of_a_field(name):
    default = getattr(DEFAULTS, name)
    if default is None:
        assert stated_default(name)[0].isalpha()  # None is explained in words
    elif name == "noise":
        assert stated_default(name) == noise_to_json(default)
    else:
        assert stated_default(name) == (f"{default:g}" if isinstance(default, float) else str(default))


@pytest.mark.parametrize(("name", "method"), HYPER)
def test_help_states_the_default_of_a_hyper_parameter(name, method):
    stated = stated_defaults(name)
    assert stated.get(method, stated[""]) == f"{METHODS[method].hyper[name]:g}"


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def stated_default(name: str) -> str:
    assert OPTIONS[name].opts == [flag(name)]
    found = re.search(r"\[default: (.+)\]$", OPTIONS[name].help)
    assert found is not None
    return found[1]


def stated_defaults(name: str) -> dict[str, str]:
    """'10; soft-penalty: 0.1' → by method, what is stated for it; '' stands for all others."""
    usual, *special = stated_default(name).split("; ")
    return {"": usual, **dict(text.split(": ") for text in special)}
