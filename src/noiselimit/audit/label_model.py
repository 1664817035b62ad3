"""How likely each label is wrong, from the class probabilities of one or more models, the judges.

The model has two parts. An example has the true class k with probability π(k|x), proportional to
exp(b_k) Π_m p_m(k|x)^{w_m} over the judges m. A label y is then given with probability T[k, y], so the given
label is wrong with probability 1 − π(y|x) T[y, y] / Σ_k π(k|x) T[k, y].

Noise and overlapping classes look alike where judges are unsure. The surest examples of each class, its
anchors, tell them apart: there the classes do not overlap, so T is the distribution of the anchors' labels.
Weights w and biases b maximise the likelihood of all given labels, first without T to find the anchors.
Judges that learn noise with the labels are sure only where there is none. So when anchors are chosen, the
first judge, the networks, counts as much as all judges together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from noiselimit.audit.quality import Flags, Floats, Labels, Probabilities
from noiselimit.randomness import Stream, uniforms

FLOOR = 0.005
"""Share of the uniform distribution in every probability, so that no judge is ever certain."""
VALUES = 2**21
"""Probabilities that a fit uses: with more, it takes a sample of the rows."""
TIED, BIASED = 0.03, 0.01
"""Penalties per example on unequal weights and on biases. Judges that learn the labels best also learn noise
that depends on the inputs, and nearly equal weights are robust to that."""
SUREST, FEWEST = 0.7, 20
"""Share of the examples of each predicted class that are its anchors, and the smallest number of them. People
label clear examples right, so with few anchors their errors would be missed; with many, overlap counts."""
EVIDENCE = 6.0
"""Log-likelihood per class that unequal confusions must gain over equally likely ones."""
STRENGTHS = (2, 5, 10, 20, 50, 100, 300, 1000)
"""Candidate strengths of the prior, in labels, that draws the rows of T to equally likely confusions."""
STEPS = 40


@dataclass(frozen=True, eq=False)
class LabelModel:
    """A fitted model of true and given labels."""

    judges: Sequence[Probabilities]
    """[n, C] each."""
    weights: Floats
    """[judges]: exponents of the judges' probabilities."""
    biases: Floats
    """[C]"""
    transition: Floats
    """[C true, C given]: T."""
    anchors: int
    """Number of labels that T was estimated from."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of examples and of classes."""
        rows, classes = self.judges[0].shape
        return rows, classes

    def true_classes(self, rows: slice | Labels) -> Floats:
        """π [rows, C]: probabilities of the true classes, without regard to the given labels."""
        logs = sum(
            weight * _logarithms(judge[rows]) for judge, weight in zip(self.judges, self.weights, strict=True)
        )
        return _softmax(logs + self.biases)

    def posterior(self, true_classes: Floats, given: Labels) -> Floats:
        """[rows, C]: probabilities of the true classes, given the labels [rows] as well."""
        joint = true_classes * self.transition[:, given].T
        return np.asarray(joint / joint.sum(1, keepdims=True))


def fit_label_model(judges: Sequence[Probabilities], given: Labels) -> LabelModel:
    """Fit the model to labels [n], −1 where missing, and the judges' probabilities [n, C].

    No judge may have trained on the label that it judges. The first should learn noise the least.
    """
    classes = judges[0].shape[1]
    rows = spread_sample(given >= 0, VALUES // (classes * len(judges)))
    logs, labels = np.stack([_logarithms(judge[rows]) for judge in judges]), given[rows]
    start = LabelModel(
        judges, np.full(len(judges), 1 / len(judges)), np.zeros(classes), np.eye(classes), anchors=0
    )
    noisy = _fit_pool(start, logs, labels)
    sureness = (np.log(_softmax(_pool(noisy, logs))) + logs[0]) / 2
    transition, anchors = _fit_transition(_softmax(sureness), labels)
    return _fit_pool(replace(noisy, transition=transition, anchors=anchors), logs, labels)


def spread_sample(known: Flags, most: int) -> Labels:
    """At most so many of the rows that are true, spread evenly."""
    count = int(np.count_nonzero(known))
    if count <= most:
        return np.flatnonzero(known)
    places = (np.arange(most) + uniforms(0, Stream.SAMPLING, 0, most)) * (count / most)
    rows = places.astype(np.int64)
    return rows if count == len(known) else np.flatnonzero(known)[rows]


def _logarithms(probabilities: Probabilities) -> Floats:
    exact = np.asarray(probabilities, np.float64)
    exact = np.maximum(exact, 0.0) * ((1 - FLOOR) / exact.sum(1, keepdims=True))
    return np.asarray(np.log(exact + FLOOR / exact.shape[1]))


def _softmax(logits: Floats) -> Floats:
    exact = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(exact / exact.sum(1, keepdims=True))


def _pool(model: LabelModel, logs: Floats) -> Floats:
    return np.asarray(np.tensordot(model.weights, logs, 1) + model.biases)


def _fit_pool(model: LabelModel, logs: Floats, labels: Labels) -> LabelModel:
    """The model with the weights and biases of maximum likelihood, penalised, for its transition matrix.

    `logs` are the judges' logarithms [judges, n, C].
    """
    judges, examples = len(logs), len(labels)
    likelihoods = np.maximum(model.transition, 1e-9)[:, labels].T  # T[k, y_i], [n, C]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        scales, biases = parameters[:judges], parameters[judges:]
        weights = np.exp(scales)
        pooled = _softmax(np.tensordot(weights, logs, 1) + biases)
        joint = pooled * likelihoods
        total = joint.sum(1)
        change = joint / total[:, np.newaxis] - pooled
        middle = scales.mean()
        apart, level, tie = scales - middle, middle + math.log(judges), TIED * examples + 0.1
        value = (
            -np.log(total).sum()
            + tie / 2 * apart @ apart
            + 0.05 * level**2
            + (BIASED * examples + 1) / 2 * biases @ biases
        )
        by_scale = -np.einsum("nk,mnk->m", change, logs) * weights + tie * apart + 0.1 * level / judges
        by_bias = -change.sum(0) + (BIASED * examples + 1) * biases
        return float(value), np.concatenate([by_scale, by_bias])

    found = minimize(
        loss,
        np.concatenate([np.log(model.weights), model.biases]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-4, 2.5)] * judges + [(-4, 4)] * len(model.biases),
        options={"maxiter": STEPS},
    ).x
    return replace(model, weights=np.exp(found[:judges]), biases=found[judges:])


def _fit_transition(probabilities: Floats, labels: Labels) -> tuple[Floats, int]:
    """T from the labels of the anchors, and how many there are, given pooled probabilities [n, C]."""
    classes = probabilities.shape[1]
    predicted = probabilities.argmax(1)
    sureness = probabilities[np.arange(len(labels)), predicted]
    counts = np.zeros((classes, classes))
    for label in range(classes):
        members = np.flatnonzero(predicted == label)
        most = max(FEWEST, math.ceil(SUREST * len(members)))
        surest = members[np.argsort(-sureness[members], kind="stable")[:most]]
        counts[label] = np.bincount(labels[surest], minlength=classes)
    anchors = counts.sum()
    rate = min((anchors - np.trace(counts) + 0.5) / (anchors + 1), 0.9 * (1 - 1 / classes))
    equal = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(equal, 1 - rate)
    # The strength of the prior with the largest marginal likelihood (Dirichlet-multinomial).
    evidence = [_evidence(counts, equal * strength) for strength in STRENGTHS]
    if max(evidence) - evidence[-1] < EVIDENCE * classes:
        return equal, int(anchors)
    strength = STRENGTHS[int(np.argmax(evidence))]
    return (counts + strength * equal) / (counts.sum(1, keepdims=True) + strength), int(anchors)


def _evidence(counts: Floats, prior: Floats) -> float:
    """Log marginal likelihood of rows of counts under Dirichlet priors."""
    total = prior.sum(1)
    return float(
        (gammaln(total) - gammaln(total + counts.sum(1))).sum()
        + (gammaln(prior + counts) - gammaln(prior)).sum()
    )
