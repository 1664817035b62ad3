"""FW: cross-entropy of the *given* label under a transition matrix (forward correction, Patrini et al. 2017).

T[i, j] is the probability that an example of clean class i is given label j. Without a T from the user, it is
estimated from the best CE run, which approximates the posteriors of the given labels: at an anchor of class
i, an example that certainly belongs to it, they are row i of T.
"""

import math
from fractions import Fraction

from noiselimit.methods.method import Batch, Hyper, Method, Tensor

LEFT_OUT = Fraction(3, 100)
"""Share of the examples above a class's anchor: Patrini et al.'s 97th percentile."""


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean −log (Tᵀ softmax(a))_y, [K].

    Summed in logarithms, to be exact where probabilities underflow; with T = I it is cross-entropy. A given
    label that is impossible under T, a column of zeros, counts as loss 0 and has no gradient.
    """
    assert batch.transition is not None
    impossible = (batch.transition == 0).all(-2, keepdim=True)
    log_transition = batch.transition.log().masked_fill(impossible, 0.0)
    given = batch.labels.unsqueeze(-1).expand_as(batch.logits)
    to_given_label = log_transition.transpose(-1, -2).gather(-2, given)  # [K, B, C]: log T[i, y] over i
    return -batch.mean((batch.logits.log_softmax(-1) + to_given_label).logsumexp(-1))


def estimate_transition(probabilities: Tensor) -> Tensor:
    """Estimate T [C, C] from the class probabilities [n, C] of the training examples.

    Row i holds the probabilities of class i's anchor: by p(i|x), the last example below the 97th percentile,
    which leaves out outliers. With more than 16 classes fewer examples are left out, half of an average
    class, because 3 % of the examples of 100 classes are three whole classes.
    """
    examples, classes = probabilities.shape
    left_out = min(LEFT_OUT, Fraction(1, 2 * classes))
    rank = max(math.ceil((1 - left_out) * (examples - 1)) - 1, 0)
    anchors = probabilities.argsort(dim=0, stable=True)[rank]
    rows = probabilities[anchors]
    return rows / rows.sum(-1, keepdim=True)


METHODS = (Method("fw", loss, starts="classifier", transition=estimate_transition),)
