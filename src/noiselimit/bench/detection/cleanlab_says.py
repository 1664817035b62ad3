"""cleanlab's own threshold and estimate, where it is installed: pip install noiselimit[peers]."""

from importlib.util import find_spec

import numpy as np

from noiselimit.bench.detection.scores import Flags, Labels, Probabilities


def has_cleanlab() -> bool:
    """Whether it can be asked here."""
    return find_spec("cleanlab") is not None


def cleanlab_issues(given: Labels, probabilities: Probabilities) -> tuple[Flags, float]:
    """[n] what its filter flags with its defaults, and its estimate of the share of wrong labels."""
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues

    exact = probabilities.astype(np.float64)
    exact /= exact.sum(1, keepdims=True)  # saved ones were rounded
    flags = np.asarray(find_label_issues(given, exact, n_jobs=1), np.bool_)
    return flags, float(num_label_issues(given, exact)) / len(given)
