"""All figures by name, in the order of the paper."""

from collections.abc import Mapping

from noiselimit.reproduce.figures.beta_sweep import BETA_SWEEP
from noiselimit.reproduce.figures.fano import FANO
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.gap_histograms import GAP_HISTOGRAMS
from noiselimit.reproduce.figures.learning_curves import CIFAR_CURVES, LEARNING_CURVES
from noiselimit.reproduce.figures.memorisation import MEMORISATION
from noiselimit.reproduce.figures.suspicious import SUSPICIOUS

FIGURES: Mapping[str, Figure] = {
    figure.name: figure
    for figure in (
        MEMORISATION,
        FANO,
        LEARNING_CURVES,
        BETA_SWEEP,
        *GAP_HISTOGRAMS,
        *SUSPICIOUS,
        *CIFAR_CURVES,
    )
}
