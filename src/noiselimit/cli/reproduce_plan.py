"""What `noiselimit reproduce NAME --plan` prints: what would be trained, in order, and in what time."""

from typing import TYPE_CHECKING, Any

from noiselimit.cli.durations import NONE, duration, scaled_words

if TYPE_CHECKING:
    from noiselimit.reproduce.call import Plan

FITS = {"whole": "", "in part": ", begun within the budget", None: ", not within the budget"}


def plan_lines(plan: "Plan", budget_minutes: float | None) -> list[str]:
    """The cohorts that are left, in order, with the time that each will take, and whose times these are."""
    lines = []
    scaled_from = _scaled_from(plan)
    scaled = scaled_from is not None
    known = budget_minutes is not None and plan.seconds is not None
    for cohort in plain_plan(plan, budget_minutes)["cohorts"]:
        fits = FITS[cohort["budget"]] if known else ""
        lines.append(f"{cohort['title']}: {_about(cohort['seconds'], scaled=scaled)}{fits}")
    are = "is" if plan.missing == 1 else "are"
    lines.append(
        f"{plan.missing} of {len(plan.tasks)} runs {are} left: {_about(plan.seconds, scaled=scaled)}"
    )
    if budget_minutes is not None and not known:
        lines.append("What fits into the budget is not known: name a file of 'noiselimit bench' by --bench.")
    if plan.protocol is not None and not plan.cells and plan.cohorts and plan.rows:
        lines.append(
            f"Runs that are there to draw: {len(plan.rows)}; --budget-minutes 0 draws and trains nothing."
        )
    if plan.speed is not None and plan.cohorts and plan.speed.words(plan.here):
        lines.append(plan.speed.words(plan.here))
    if scaled_from is not None:
        lines.append(scaled_words(scaled_from))
    return lines


def plain_plan(plan: "Plan", budget_minutes: float | None) -> dict[str, Any]:
    """The same for --json; `budget`: whole, in part or null, where there is one and times are known."""
    from noiselimit.reproduce.budget import in_budget

    known = budget_minutes is not None and plan.seconds is not None
    fitting = in_budget(plan.cohorts, 60 * (budget_minutes or 0.0)) if known else {}
    return {
        "runs": len(plan.tasks),
        "runs_left": plan.missing,
        "seconds": plan.seconds,
        "device": plan.here,
        "timed_on": None if plan.speed is None else plan.speed.device,
        "scaled_from": _scaled_from(plan),
        "cohorts": [
            {
                "title": cohort.title,
                "methods": cohort.methods,
                "runs": len(cohort.tasks),
                "seconds": cohort.seconds,
                "budget": fitting.get(number),
            }
            for number, cohort in enumerate(plan.cohorts)
        ],
    }


def _scaled_from(plan: "Plan") -> str | None:
    """The network whose times these are, where the bench did not time that which is to be trained."""
    from noiselimit.reproduce.estimate import load_of

    if plan.speed is None or plan.protocol is None or not plan.cohorts:
        return None
    return plan.speed.scaled_from(load_of(plan.tasks[0], plan.protocol))


def _about(seconds: float | None, *, scaled: bool) -> str:
    text = duration(seconds, scaled=scaled)
    return text if scaled or text in (NONE, "0") else f"about {text}"
