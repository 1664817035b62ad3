"""Noise that is added before an audit, to try it where the right labels are known."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiselimit.data.examples import DataSet
    from noiselimit.noise import Noise


def with_noise(data: "DataSet", text: str, noise: "Noise", seed: int) -> "DataSet":
    """The data with noisy labels, and a note that says so; labels of a test part stay as they are.

    The labels are those that a run with this noise and seed would see, so that everything after this works
    on them as on anybody's labels, and no run adds noise of its own.
    """
    note = f"{data.name}: noise {text} was added to the labels (seed {seed})."
    return replace(data, examples=noise.apply(data.examples, seed), notes=(*data.notes, note))
