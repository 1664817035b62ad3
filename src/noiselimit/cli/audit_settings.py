"""What an audit is to train and to flag, from what was typed; mistakes are told before data are read."""

from typing import TYPE_CHECKING

from noiselimit.errors import InputError

if TYPE_CHECKING:
    from noiselimit.audit.issues import Steering
    from noiselimit.audit.plan import AuditPlan


def make_plan(
    *, fast: bool, beta: str | None, seed: str | None, network: str | None, epochs: str | None
) -> "AuditPlan":
    """The usual plan, or the fast one, with what was typed in its place."""
    from dataclasses import replace

    from noiselimit.audit.plan import DEFAULT, FAST
    from noiselimit.cli.values import several
    from noiselimit.grids import grid

    typed: dict[str, object] = {
        name: several(name, text) for name, text in (("beta", beta), ("seed", seed)) if text is not None
    }
    typed |= {name: text for name, text in (("network", network), ("epochs", epochs)) if text is not None}
    specs = grid(method=DEFAULT.method, **typed)  # checks and converts what was typed
    plan = FAST if fast else DEFAULT
    if beta is not None:
        plan = replace(plan, betas=tuple(dict.fromkeys(spec.hyper["beta"] for spec in specs)))
    if seed is not None:
        plan = replace(plan, seeds=tuple(dict.fromkeys(spec.seed for spec in specs)))
    if network is not None:
        plan = replace(plan, network=specs[0].network)
    if epochs is not None:
        plan = replace(plan, epochs=specs[0].epochs)
    for option, values in (("--beta", plan.betas), ("--seed", plan.seeds)):
        if fast and len(values) > 1:
            raise InputError(f"--fast trains once, but {option} has {len(values)} values: give one of them.")
    return plan


def make_steering(
    expect_noise: float | None, budget: int | None, min_quality: float | None
) -> "tuple[Steering, str]":
    """How many labels are to be flagged, and that in words; empty words where the estimate decides."""
    from noiselimit.audit.issues import Steering

    given = {"--expect-noise": expect_noise, "--budget": budget, "--min-quality": min_quality}
    said = [option for option, value in given.items() if value is not None]
    if len(said) > 1:
        raise InputError(f"{' and '.join(said)} each say how many labels to flag: give one of them.")
    return Steering(expect_noise, budget, min_quality), " ".join(f"{name} {given[name]:g}" for name in said)
