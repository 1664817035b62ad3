"""noiselimit bound: the paper's bounds as numbers, and Fig. 2."""

import json
import math
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noiselimit.cli.options import Json, path_option, several
from noiselimit.errors import InputError

ROUNDING = 1e-12  # smaller differences are rounding errors

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


def number_option(flag: str, metavar: str, help: str) -> Any:
    """Return an option whose name is not its parameter's."""
    return typer.Option(flag, metavar=metavar, help=help)


def entropy_of(probability: float | None, entropy: float | None, classes: int) -> float:
    """Return H(y|x) in bits, from the probability of uniform noise or as given."""
    from noiselimit.information import uniform_noise_entropy
    from noiselimit.information.entropy import numbers

    if (probability is None) == (entropy is None):
        raise InputError("the noise is needed either as --noise or as --entropy: give one of them.")
    if entropy is not None:
        return float(numbers("noise_entropy", entropy))
    return float(uniform_noise_entropy(probability, classes))


def print_bound(name: str, value: float, vacuous: str, facts: dict[str, Any], as_json: bool) -> None:
    """Print the number on stdout; if the bound is vacuous, print the reason on stderr."""
    value = value if value > ROUNDING else 0.0
    if as_json:
        finite = {key: None if fact == math.inf else fact for key, fact in {name: value, **facts}.items()}
        print(json.dumps({**finite, "vacuous": bool(vacuous)}))
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
        float, number_option("--bits", "BITS", "I(w;Y|X) per label: what the weights hold.")
    ],
    probability: Noise = None,
    noise_entropy: Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the lowest training error that memorised bits allow.

    Theorem 2.1, in expectation over data and training. The error is measured on the noisy labels.
    """
    from noiselimit.information import least_error

    entropy = entropy_of(probability, noise_entropy, classes)
    error = least_error(entropy, information, classes)
    note = f"no error is implied, since a label holds {entropy:.3g} bits of noise" if error == 0 else ""
    facts = {"classes": classes, "noise_entropy": entropy, "bits": information}
    print_bound("least_error", error, note, facts, as_json)


@bound.command()
def memorised(
    classes: Classes,
    error: Annotated[float, number_option("--error", "R", "Training error on the given, noisy labels.")],
    probability: Noise = None,
    noise_entropy: Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the fewest bits that a training error implies.

    Theorem 2.1 solved for the bits memorised per label. It holds for the mean over training runs.
    """
    from noiselimit.information import least_information

    entropy = entropy_of(probability, noise_entropy, classes)
    found = least_information(entropy, error, classes)
    note = "such an error needs no memorised bits" if found < ROUNDING else ""
    facts = {"classes": classes, "noise_entropy": entropy, "error": error}
    print_bound("least_bits", found, note, facts, as_json)


@bound.command()
def capacity(
    classes: Classes,
    mean_square_norm: Annotated[
        float, number_option("--square-norm", "N", "Mean of ‖μ‖², the gradient without noise.")
    ],
    sigma: Annotated[float, typer.Option(metavar="S", help="Standard deviation of each component's noise.")],
    distribution: Annotated[str, typer.Option(metavar="NAME", help="gaussian or laplace.")] = "gaussian",
    passes: Annotated[int, typer.Option(metavar="T", help="Passes over the data.")] = 1,
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
    from noiselimit.information.entropy import whole_numbers

    if passes < 1:
        raise InputError(f"passes is {passes}: give a whole number ≥ 1.")
    if probability is None and noise_entropy is None:
        entropy = math.log2(whole_numbers("classes", classes, at_least=2))
    else:
        entropy = entropy_of(probability, noise_entropy, classes)
    size = classes if dimension is None else dimension
    each = gradient_capacity(mean_square_norm, size, sigma, cast(Any, distribution))
    note = f"a label holds {entropy:.3g} bits at most" if passes * each >= entropy else ""
    facts = {"bits_per_gradient": each, "passes": passes, "noise_entropy": entropy}
    print_bound("most_bits", passes * each, note, facts, as_json)


@bound.command()
def gap(
    examples: Annotated[int, typer.Option(metavar="N", help="Training examples.")],
    input_information: Annotated[
        float, number_option("--input-bits", "BITS", "I(w;X), of the whole training set.")
    ],
    label_information: Annotated[
        float, number_option("--label-bits", "BITS", "I(w;Y|X), of the whole training set.")
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
    print_bound("gap", found, note, {**facts, "sigma": sigma}, as_json)


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
        raise InputError(f"out is {out}: name a file that ends in .svg.")
    curves = [fano_curve(value, classes) for value in several("probability", probability)]
    with atomic_file(out) as temporary:
        temporary.write_text(fano_chart(curves, classes), "utf-8")
    if as_json:
        print(json.dumps({"file": str(out), "curves": [*curves]}))
    else:
        print(f"least training error of {len(curves)} noises written to {out}")
