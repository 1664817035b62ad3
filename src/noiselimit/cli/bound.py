"""noiselimit bound: the paper's bounds as numbers, and Fig. 2."""

import math
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noiselimit.cli.options import Json, path_option, several
from noiselimit.cli.tables import print_json
from noiselimit.errors import InputError

# The parameters below have the names of the functions' parameters, which errors mention.
Classes = Annotated[int, typer.Option(metavar="K", min=2, help="Number of classes.")]
Noise = Annotated[
    float | None, typer.Option("--noise", metavar="P", help="Share of labels replaced by another, uniformly.")
]
Entropy = Annotated[
    float | None, typer.Option("--entropy", metavar="BITS", help="Instead of --noise: H(y|x) in bits.")
]


def _entropy(probability: float | None, entropy: float | None, classes: int) -> float:
    """H(y|x) in bits, from the probability of uniform noise or as given."""
    from noiselimit.information import uniform_noise_entropy
    from noiselimit.information.entropy import numbers

    if (probability is None) == (entropy is None):
        raise InputError("give either --noise or --entropy.")
    found = uniform_noise_entropy(probability, classes) if entropy is None else entropy
    return float(numbers("noise_entropy", found))


def _print(name: str, value: float, vacuous: str, facts: dict[str, Any], as_json: bool) -> None:
    """Print the number on stdout; if the bound is vacuous, print the reason on stderr."""
    if as_json:
        print_json({name: value, **facts, "vacuous": bool(vacuous)})
        return
    print(f"{value:.3g}" if value < 100 else f"{value:.0f}")
    if vacuous:
        print(f"vacuous: {vacuous}", file=sys.stderr)


bound = typer.Typer(rich_markup_mode=None)


@bound.callback(invoke_without_command=True)
def _bound(context: typer.Context) -> None:
    """Compute the paper's bounds on errors and memorised bits."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@bound.command()
def fano(
    classes: Classes,
    information: Annotated[
        float, typer.Option("--bits", metavar="BITS", help="I(w;Y|X) per label: what the weights hold.")
    ],
    probability: Noise = None,
    noise_entropy: Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the lowest training error that memorised bits allow.

    Theorem 2.1, in expectation over data and training. The error is measured on the noisy labels.
    """
    from noiselimit.information import least_error

    entropy = _entropy(probability, noise_entropy, classes)
    error = least_error(entropy, information, classes)
    note = f"no error is implied, since a label holds {entropy:.3g} bits of noise" if error == 0 else ""
    facts = {"classes": classes, "noise_entropy": entropy, "bits": information}
    _print("least_error", error, note, facts, as_json)


@bound.command()
def memorised(
    classes: Classes,
    error: Annotated[
        float, typer.Option("--error", metavar="R", help="Training error on the given, noisy labels.")
    ],
    probability: Noise = None,
    noise_entropy: Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the fewest bits that a training error implies.

    Theorem 2.1 solved for the bits memorised per label. It holds for the mean over training runs.
    """
    from noiselimit.information import least_information

    entropy = _entropy(probability, noise_entropy, classes)
    bits = least_information(entropy, error, classes)
    bits = bits if bits > 1e-12 else 0.0  # a rounding error
    note = "such an error needs no memorised bits" if bits == 0 else ""
    facts = {"classes": classes, "noise_entropy": entropy, "error": error}
    _print("least_bits", bits, note, facts, as_json)


@bound.command()
def capacity(
    classes: Classes,
    mean_square_norm: Annotated[
        float, typer.Option("--square-norm", metavar="N", help="Mean of ‖μ‖², the gradient without noise.")
    ],
    sigma: Annotated[float, typer.Option(metavar="S", help="Standard deviation of each component's noise.")],
    distribution: Annotated[str, typer.Option(metavar="NAME", help="gaussian or laplace.")] = "gaussian",
    passes: Annotated[int, typer.Option(metavar="T", min=1, help="Passes over the data.")] = 1,
    dimension: Annotated[
        int | None, typer.Option(metavar="D", help="Numbers in a gradient. [default: the number of classes]")
    ] = None,
    probability: Noise = None,
    noise_entropy: Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the most bits that noisy gradients can carry.

    Proposition 3.1, per label and summed over the passes; for Laplace noise the corrected bound.
    """
    from noiselimit.information import gradient_capacity

    if probability is None and noise_entropy is None:
        entropy = math.log2(classes)
    else:
        entropy = _entropy(probability, noise_entropy, classes)
    size = classes if dimension is None else dimension
    each = gradient_capacity(mean_square_norm, size, sigma, cast(Any, distribution))
    note = f"a label holds {entropy:.3g} bits at most" if passes * each >= entropy else ""
    facts = {"bits_per_gradient": each, "passes": passes, "noise_entropy": entropy}
    _print("most_bits", passes * each, note, facts, as_json)


@bound.command()
def gap(
    examples: Annotated[int, typer.Option(metavar="N", help="Training examples.")],
    input_information: Annotated[
        float, typer.Option("--input-bits", metavar="BITS", help="I(w;X), of the whole training set.")
    ],
    label_information: Annotated[
        float, typer.Option("--label-bits", metavar="BITS", help="I(w;Y|X), of the whole training set.")
    ],
    sigma: Annotated[
        float, typer.Option(metavar="S", help="The loss is S-sub-Gaussian; 0.5 for one in [0, 1].")
    ] = 0.5,
    as_json: Json = False,
) -> None:
    """Print the largest gap between training and test loss.

    Theorem 2.2, in expectation over data and training.
    """
    from noiselimit.information import generalisation_gap

    found = generalisation_gap(input_information, label_information, examples, sigma)
    width = 2 * sigma  # of an interval in which every loss is sigma-sub-Gaussian
    note = f"a loss in an interval of {width:g} has no larger gap" if found >= width > 0 else ""
    facts = {"input_bits": input_information, "label_bits": label_information, "examples": examples}
    _print("gap", found, note, {**facts, "sigma": sigma}, as_json)


@bound.command()
def plot(
    out: Annotated[Path, path_option("FILE", "File to write, ending in .svg.")],
    classes: Classes = 10,
    probability: Annotated[
        str, typer.Option("--noise", metavar="P,...", help="Probabilities of uniform noise.")
    ] = "0.2,0.4,0.6,0.8",
    as_json: Json = False,
) -> None:
    """Draw the least training error against memorised bits.

    Fig. 2 of the paper: Theorem 2.1 for uniform noise.
    """
    from noiselimit.files import atomic_file
    from noiselimit.report.charts import fano_chart, fano_curve

    if out.suffix.lower() != ".svg":
        raise InputError(f"out is {out}: the name must end in .svg.")
    curves = [fano_curve(value, classes) for value in several("probability", probability)]
    with atomic_file(out) as temporary:
        temporary.write_text(fano_chart(curves, classes), "utf-8")
    if as_json:
        print_json({"file": str(out), "curves": curves})
    else:
        print(f"least training error of {len(curves)} noises written to {out}")
