"""The CE runs that others start from."""

from dataclasses import replace
from pathlib import Path

from noiselimit.errors import InputError
from noiselimit.finite import finite_json
from noiselimit.opening import read_small_text
from noiselimit.reproduce.protocol import Protocol, protocol_for
from noiselimit.reproduce.work import Task
from noiselimit.spec import RunSpec

Place = tuple[object, int, int | None]
"""Noise, seed and size: where one CE run serves all that start from one."""


def place_of(spec: RunSpec) -> Place:
    """Where the CE run is that the run starts from, or is."""
    return spec.noise, spec.seed, spec.train_size


def parent_of(task: Task) -> Task:
    """The CE run that the task's run starts from, as a task."""
    epochs = task.spec.parent_epochs or task.spec.epochs
    spec = replace(task.spec, method="ce", hyper={}, epochs=epochs, parent_epochs=None)
    return Task(replace(task.cell, method="ce"), spec, "")


def is_parent(spec: RunSpec, protocol: Protocol) -> bool:
    """Whether runs of a table may start from it: a whole CE run with the table's network."""
    network = protocol_for(protocol.data, quick=protocol.quick).network
    whole = protocol.parent_epochs or protocol.epochs
    return (spec.method, spec.network, spec.epochs) == ("ce", network, whole)


def parents_there(runs: Path, protocol: Protocol) -> set[Place]:
    """Where there is such a run among the folders in `runs`, so that it need not be trained."""
    found = set()
    for path in runs.glob("ce-seed*/spec.json"):
        try:
            spec = RunSpec.from_json(finite_json(read_small_text(path)))
        except (OSError, ValueError, AttributeError, InputError):
            continue  # training says what is wrong with it
        if is_parent(spec, protocol):
            found.add(place_of(spec))
    return found
