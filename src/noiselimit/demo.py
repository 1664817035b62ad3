"""The first minute: scikit-learn's digits with 40 % wrong labels, cross-entropy beside LIMIT."""

from collections.abc import Callable, Sequence
from pathlib import Path

from noiselimit.data.digits import digits
from noiselimit.files import write_json
from noiselimit.grids import grid
from noiselimit.locks import folder_lock
from noiselimit.report import write_report
from noiselimit.run_report import make_report, summary
from noiselimit.runs import Run
from noiselimit.spec import RunSpec
from noiselimit.training import Progress, train

NOISE = "uniform:0.4"
BETAS = (3.0, 10.0, 30.0)
EPOCHS = 40


def demo_specs(seeds: Sequence[int], epochs: int = EPOCHS) -> list[RunSpec]:
    """Cross-entropy, LIMIT-L and LIMIT-G over a small grid of β; all can be rows of one cohort."""
    return grid(
        method=["ce", "limit-l", "limit-g"],
        beta=list(BETAS),
        seed=list(seeds),
        noise=NOISE,
        epochs=epochs,
        batch_size=64,
    )


def run_demo(
    out: Path,
    seeds: Sequence[int] = (0,),
    epochs: int = EPOCHS,
    device: str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> list[Run]:
    """Train, and write into `out` the run folders, summary.json and report.html."""
    data = digits()
    with folder_lock(out):
        runs = train(demo_specs(seeds, epochs), data, out=out, device=device, progress=progress)
        write_json(out / "summary.json", summary(runs))
        write_report(out / "report.html", make_report("Digits with 40 % wrong labels", runs, data))
    return runs
