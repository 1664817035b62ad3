"""Options of noiselimit bound, and the noise that they tell of.

Parameters bear the names that the functions behind them use, so that complaints name the option.
"""

import math
from typing import Annotated

import typer

from noiselimit.errors import InputError

Classes = Annotated[int, typer.Option(metavar="K", help="Number of classes.")]
Noise = Annotated[
    float | None,
    typer.Option("--noise", metavar="P", help="Probability that a label is one of the others, uniformly."),
]
Entropy = Annotated[
    float | None,
    typer.Option(
        "--entropy", metavar="BITS", help="Instead of --noise: H(y|x), as noiselimit noise prints it."
    ),
]
Bits = Annotated[
    float, typer.Option("--bits", metavar="BITS", help="I(w;Y|X) per label: what the weights hold.")
]
TrainingError = Annotated[
    float, typer.Option("--error", metavar="R", help="Training error on the given, noisy labels.")
]
SquareNorm = Annotated[
    float, typer.Option("--square-norm", metavar="N", help="Mean of ‖μ‖², the gradient without noise.")
]
NoiseDeviation = Annotated[
    float, typer.Option(metavar="S", help="Standard deviation of each component's noise.")
]
Dimension = Annotated[
    int | None, typer.Option(metavar="D", help="Numbers in a gradient. [default: the number of classes]")
]
InputBits = Annotated[
    float, typer.Option("--input-bits", metavar="BITS", help="I(w;X), of the whole training set.")
]
LabelBits = Annotated[
    float, typer.Option("--label-bits", metavar="BITS", help="I(w;Y|X), of the whole training set.")
]
LossDeviation = Annotated[
    float, typer.Option(metavar="S", help="The loss is S-sub-Gaussian; 0.5 for one in [0, 1].")
]
SeveralNoises = Annotated[
    str, typer.Option("--noise", metavar="P,...", help="Probabilities of uniform noise.")
]


def noise_bits(probability: float | None, noise_entropy: float | None, classes: int) -> float:
    """H(y|x) in bits, from the probability of uniform noise or given as such."""
    from noiselimit.information import uniform_noise_entropy
    from noiselimit.information.checks import numbers

    if (probability is None) == (noise_entropy is None):
        raise InputError("the noise is needed as --noise or as --entropy, and not as both: give one of them.")
    if noise_entropy is not None:
        return float(numbers("noise_entropy", noise_entropy))
    return float(uniform_noise_entropy(probability, classes))


def most_bits(classes: int) -> float:
    """What a label of k classes holds at most."""
    from noiselimit.information.checks import whole_numbers

    return math.log2(whole_numbers("classes", classes, at_least=2))
