"""Average the probabilities of runs, and calibrate training examples to held-out ones.

A run's probabilities are the mean of classifier and predictor over the second half of the epochs. If a run
memorised labels, it doubts the labels that it trained on too little. The probability mass off the given
label is then mapped to the distribution that held-out examples have; the order of the examples stays.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc

from noiselimit.audit.quality import Floats, Labels, chunks
from noiselimit.runs.run import Averaged, Run

Probabilities = npt.NDArray[np.float32]

SIGNIFICANCE = 0.01
"""p-value below which labels count as memorised."""
TRUSTED = 0.01
"""Off-label mass below which a label is not in doubt; smaller differences are ignored."""
MIN_HELD_OUT = 100
"""With fewer held-out examples, quantiles say too little about wrong labels."""


def average_runs(
    runs: Sequence[Run], labels: Labels, held_out: Sequence[Labels]
) -> tuple[Probabilities, int]:
    """Probabilities [n, C] averaged over runs that trained or validated on all examples.

    `held_out` lists, for each run, the rows that it did not train on. Returns also the number of examples
    that an estimate of the noise rate rests on: all, or the held-out ones if others were calibrated to them.
    """
    classes = len(runs[0].data.class_names)
    mean = np.zeros((len(labels), classes), np.float32)
    calibrated_to: list[Labels] = []
    for run, validation in zip(runs, held_out, strict=True):
        averages = run.averaged
        assert averages is not None
        mass = np.empty(len(labels))
        for part in chunks(len(labels), classes):
            mass[part] = off_label_mass(mean_of_networks(averages, part), labels[part])
        trained = np.setdiff1d(np.arange(len(labels)), validation)
        calibrated = calibrate(mass, trained, validation)
        if calibrated is not mass:
            calibrated_to.append(validation)
        for part in chunks(len(labels), classes):
            probabilities = mean_of_networks(averages, part)
            if calibrated is not mass:
                probabilities = with_off_label_mass(probabilities, labels[part], calibrated[part])
            mean[part] += probabilities / len(runs)
    return mean, len(np.unique(np.concatenate(calibrated_to))) if calibrated_to else len(labels)


def calibrate(mass: Floats, trained: Labels, held_out: Labels) -> Floats:
    """Calibrate the off-label mass [n] of the rows `trained` if they were memorised, else return `mass`."""
    memorised = is_memorised(mass[trained], mass[held_out])
    return match_quantiles(mass, trained, held_out) if memorised else mass


def cannot_be_calibrated(runs: Sequence[Run], labels: Labels, held_out: Sequence[Labels]) -> bool:
    """Whether a run memorised labels, and too few were held out to calibrate the others to them."""
    for run, validation in zip(runs, held_out, strict=True):
        if len(validation) < MIN_HELD_OUT:
            assert run.averaged is not None
            mass = off_label_mass(mean_of_networks(run.averaged, slice(None)), labels)
            trained = np.setdiff1d(np.arange(len(labels)), validation)
            if is_memorised(mass[trained], mass[validation], at_least=1):
                return True
    return False


def is_memorised(trained: Floats, held_out: Floats, at_least: int = MIN_HELD_OUT) -> bool:
    """Test whether training labels are doubted less, or contradicted less often, than held-out labels.

    Takes the off-label mass of both groups. Without memorisation, it is true in one case of a hundred. It is
    false with fewer than `at_least` held-out labels.
    """
    if len(held_out) < at_least or not len(trained):
        return False
    first, second = np.sort(trained), np.sort(held_out)
    both = np.concatenate([first, second])
    both = both[both >= TRUSTED]
    farthest = (_cdf(both, first) - _cdf(both, second)).max(initial=0.0)  # one-sided Smirnov test
    p_surer = math.exp(-2 * farthest**2 / (1 / len(first) + 1 / len(second)))
    contradicted = [len(part) - np.searchsorted(part, 0.5, "right") for part in (first, second)]
    # Binomial test: without memorisation, a contradicted label is as likely held out as any other. It works
    # with few contradicted labels, for example none trained and ten held out.
    p_fewer = bdtrc(contradicted[1] - 1, sum(contradicted), len(second) / (len(first) + len(second)))
    return bool(min(p_surer, p_fewer) < SIGNIFICANCE / 2)


def match_quantiles(mass: Floats, trained: Labels, held_out: Labels) -> Floats:
    """[n]: rows `trained` get the quantiles of the rows `held_out`, in their own order."""
    first, second = np.sort(mass[trained]), np.sort(mass[held_out])
    matched = mass.copy()
    # The ends 0 and 1 keep the order of values beyond the last held-out example.
    places, values = [0.0, *_mid_rank(second, second), 1.0], [0.0, *second, 1.0]
    matched[trained] = np.interp(_mid_rank(mass[trained], first), places, values)
    return matched


def off_label_mass(probabilities: Probabilities, labels: Labels) -> Floats:
    """[n]: sum of the probabilities [n, C] of all classes but the given one."""
    # 1 − p would lose precision where the mass is small.
    others = probabilities.copy()
    others[np.arange(len(labels)), labels] = 0.0
    return np.asarray(np.minimum(others.sum(1, dtype=np.float64), 1.0))


def with_off_label_mass(probabilities: Probabilities, labels: Labels, mass: Floats) -> Probabilities:
    """Scale the probabilities [n, C] of the other classes so that they sum to `mass` [n]."""
    before = off_label_mass(probabilities, labels)
    some = before > 0
    factor = np.divide(mass, before, out=np.zeros_like(before), where=some)
    result = probabilities * factor[:, np.newaxis].astype(np.float32)
    result[np.arange(len(labels)), labels] = np.where(some, 1.0 - mass, 1.0)
    same = mass == before  # unchanged rows stay exact
    result[same] = probabilities[same]
    return np.asarray(result, np.float32)


def _cdf(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample up to each value."""
    return np.asarray(np.searchsorted(sample, values, "right") / len(sample))


def _mid_rank(values: Floats, sample: Floats) -> Floats:
    """Share of the sorted sample below each value, counting half of the ties."""
    left, right = (np.searchsorted(sample, values, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(sample)))


def drop_averages(run: Run) -> Run:
    """The run without its averaged probabilities, which are its largest part in memory."""
    if run.in_memory is None:
        return run
    return dataclasses.replace(run, in_memory=dataclasses.replace(run.in_memory, averaged=None))


def mean_of_networks(averages: Averaged, rows: slice | Labels) -> Probabilities:
    """[rows, C]: mean of classifier and predictor, which detects label errors better than either alone."""
    if averages.predictor is None:
        return averages.classifier[rows]
    return np.asarray((averages.classifier[rows] + averages.predictor[rows]) / 2, np.float32)
