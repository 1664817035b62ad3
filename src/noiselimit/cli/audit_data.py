"""The examples whose labels an audit looks at."""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiselimit.data.examples import DataSet
    from noiselimit.noise import Noise


def training_part(data: "DataSet") -> "DataSet":
    """The data without their other parts, and a note that says so where there are any."""
    others = {"test": data.test, "validation": data.validation}
    there = [f"{name} part ({len(part):,})" for name, part in others.items() if part is not None]
    if not there:
        return data
    note = (
        f"{data.name}: the training part ({len(data.examples):,} examples) is audited; "
        f"the {' and the '.join(there)} {'is' if len(there) == 1 else 'are'} left alone."
    )
    # What is said of choosing by the validation part is for those who train.
    kept = (told for told in data.notes if "--validation-labels" not in told)
    return replace(data, test=None, validation=None, notes=(*kept, note))


def with_noise(data: "DataSet", text: str, noise: "Noise", seed: int) -> "DataSet":
    """The data with noise added to the labels, to try an audit where the right ones are known; with a note.

    The labels are those that a run with this noise and seed would see, so that everything after this works
    on them as on anybody's labels, and no run adds noise of its own.
    """
    note = f"{data.name}: noise {text} was added to the labels (seed {seed})."
    return replace(data, examples=noise.apply(data.examples, seed), notes=(*data.notes, note))
