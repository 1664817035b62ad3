"""Fig. 2: the least training error that memorised bits allow. Mathematics, nothing is trained."""

from noiselimit.report.fano_chart import fano_chart, fano_curve
from noiselimit.reproduce.figures.figure import Figure

NOISES, CLASSES = ("0.2", "0.4", "0.6", "0.8"), 10


def fano_figure() -> str:
    """As `noiselimit bound plot` draws it."""
    return fano_chart([fano_curve(noise, CLASSES) for noise in NOISES], CLASSES)


FANO = Figure(
    name="fano",
    title="Least training error against memorised bits",
    place="Fig. 2 of the paper",
    data=None,
    kind=None,
    wants=lambda row: False,
    tasks=lambda protocol: [],
    draw=lambda kept: fano_figure(),
    caption=lambda kept: "Theorem 2.1 for uniform noise and 10 classes.",
)
