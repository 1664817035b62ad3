"""What an audit is to train and to flag, from what was typed; mistakes are told before data are read."""

from typing import TYPE_CHECKING, Any

from noiselimit.errors import InputError

if TYPE_CHECKING:
    from noiselimit.audit.issues import Steering
    from noiselimit.audit.plan import AuditPlan


PLURALS = {"beta": "betas", "seed": "seeds"}
"""Options that take several values, and what a plan calls these."""


def make_plan(fast: bool, **typed: str | None) -> "AuditPlan":
    """The usual plan, or the fast one, with what was `typed` in its place: fields of a run, or β."""
    from dataclasses import replace

    from noiselimit.audit.plan import DEFAULT, FAST
    from noiselimit.cli.values import several
    from noiselimit.grids import grid

    given = {name: text for name, text in typed.items() if text is not None}
    # A grid checks and converts them.
    specs = grid(
        method=DEFAULT.recipes.simple.candidates[0].method,
        **{name: several(name, text) if name in PLURALS else text for name, text in given.items()},
    )
    found: dict[str, Any] = {}
    for name in given:
        values = tuple(
            dict.fromkeys(spec.hyper[name] if name in spec.hyper else getattr(spec, name) for spec in specs)
        )
        if name in PLURALS:
            found[PLURALS[name]] = values
            if fast and len(values) > 1:
                raise InputError(
                    f"--fast trains once, but --{name} has {len(values)} values: give one of them."
                )
        else:
            found[name] = values[0]
    return replace(FAST if fast else DEFAULT, **found)


def make_steering(
    expect_noise: float | None, budget: int | None, min_quality: float | None
) -> "tuple[Steering, str]":
    """How many labels are to be flagged, and that in words; empty words where the estimate decides."""
    from noiselimit.audit.issues import Steering

    given = {"--expect-noise": expect_noise, "--budget": budget, "--min-quality": min_quality}
    said = [option for option, value in given.items() if value is not None]
    if len(said) > 1:
        raise InputError(f"{' and '.join(said)} each say how many labels to flag: give one of them.")
    return Steering(expect_noise, budget, min_quality), " ".join(
        f"{name} {given[name]:.15g}" for name in said
    )
