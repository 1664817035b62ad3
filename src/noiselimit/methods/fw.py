"""FW: cross-entropy of the *given* label under a transition matrix (forward correction, Patrini et al. 2017).

T[i, j] is the probability that an example of clean class i is given label j. Where the user gives no T, it is
read off the best CE run, which approximates the posterior of the given labels: at an anchor of class i, an
example that surely belongs to it, these posteriors are row i of T.
"""

import math
from fractions import Fraction

from noiselimit.methods.method import Batch, Hyper, Method, Tensor

LEFT_OUT = Fraction(3, 100)
"""Share of the examples above a class's anchor: Patrini et al.'s 97th percentile."""


def loss(batch: Batch, hyper: Hyper) -> Tensor:
    """mean −log (Tᵀ softmax(a))_y, [K].

    Summed in logarithms, so that it is exact where probabilities underflow; with T = I it is cross-entropy. A
    given label that T holds to be impossible, a column of zeros, has no gradient: it counts as loss 0.
    """
    assert batch.transition is not None
    impossible = (batch.transition == 0).all(-2, keepdim=True)
    log_transition = batch.transition.log().masked_fill(impossible, 0.0)
    given = batch.labels.unsqueeze(-1).expand_as(batch.logits)
    to_given_label = log_transition.transpose(-1, -2).gather(-2, given)  # [K, B, C]: log T[i, y] over i
    return -batch.mean((batch.logits.log_softmax(-1) + to_given_label).logsumexp(-1))


def estimate_transition(probabilities: Tensor) -> Tensor:
    """[C, C] from the class probabilities [n, C] that the starting classifier gives the training examples.

    Row i holds the probabilities of class i's anchor: by p(i|x), the last example below the 97th percentile,
    which leaves out the few that a network calls class i for some odd reason of their own. With more than 16
    classes fewer are left out, half of an average class: of 100 classes, 3 % are three whole ones.
    """
    examples, classes = probabilities.shape
    left_out = min(LEFT_OUT, Fraction(1, 2 * classes))
    rank = max(math.ceil((1 - left_out) * (examples - 1)) - 1, 0)
    anchors = probabilities.argsort(dim=0, stable=True)[rank]
    rows = probabilities[anchors]
    return rows / rows.sum(-1, keepdim=True)


METHODS = (Method("fw", loss, starts="classifier", transition=estimate_transition),)
