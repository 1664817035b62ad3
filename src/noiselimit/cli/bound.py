"""noiselimit bound: the paper's bounds as numbers, and Fig. 2."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noiselimit.cli import bound_options as option
from noiselimit.cli.bound_answer import ROUNDING, answer
from noiselimit.cli.options import Json
from noiselimit.errors import InputError

bound = typer.Typer(rich_markup_mode=None)


@bound.callback(invoke_without_command=True)
def _bound(context: typer.Context) -> None:
    """Compute what training errors and memorised bits imply."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@bound.command()
def fano(
    classes: option.Classes,
    information: option.Bits,
    probability: option.Noise = None,
    noise_entropy: option.Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the least training error that memorised bits allow.

    Theorem 2.1, in expectation over data and trainings. The error is that on the noisy labels.
    """
    from noiselimit.information import least_error

    entropy = option.noise_bits(probability, noise_entropy, classes)
    error = least_error(entropy, information, classes)
    note = f"no error is implied, since a label holds {entropy:.3g} bits of noise" if error == 0 else ""
    facts = {"classes": classes, "noise_entropy": entropy, "bits": information}
    answer("least_error", error, note, facts, as_json)


@bound.command()
def memorised(
    classes: option.Classes,
    error: option.TrainingError,
    probability: option.Noise = None,
    noise_entropy: option.Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the least bits that a training error implies.

    Theorem 2.1 read backwards, in bits memorised per label. It speaks of the mean over trainings: one run
    implies it if it is typical.
    """
    from noiselimit.information import least_information

    entropy = option.noise_bits(probability, noise_entropy, classes)
    found = least_information(entropy, error, classes)
    note = "such an error needs no memory" if found < ROUNDING else ""
    facts = {"classes": classes, "noise_entropy": entropy, "error": error}
    answer("least_bits", found, note, facts, as_json)


@bound.command()
def capacity(
    classes: option.Classes,
    mean_square_norm: option.SquareNorm,
    sigma: option.NoiseDeviation,
    distribution: Annotated[str, typer.Option(metavar="NAME", help="gaussian or laplace.")] = "gaussian",
    passes: Annotated[int, typer.Option(metavar="T", help="Passes over the data.")] = 1,
    dimension: option.Dimension = None,
    probability: option.Noise = None,
    noise_entropy: option.Entropy = None,
    as_json: Json = False,
) -> None:
    """Print the most bits that noisy gradients can tell.

    Proposition 3.1, per label and summed over the passes; for Laplace noise the corrected bound.
    """
    from noiselimit.information import gradient_capacity

    if passes < 1:
        raise InputError(f"passes is {passes}: give a whole number ≥ 1.")
    if probability is None and noise_entropy is None:
        entropy = option.most_bits(classes)
    else:
        entropy = option.noise_bits(probability, noise_entropy, classes)
    size = classes if dimension is None else dimension
    each = gradient_capacity(mean_square_norm, size, sigma, cast(Any, distribution))
    note = f"a label holds {entropy:.3g} bits at most" if passes * each >= entropy else ""
    facts = {"bits_per_gradient": each, "passes": passes, "noise_entropy": entropy}
    answer("most_bits", passes * each, note, facts, as_json)


@bound.command()
def gap(
    examples: Annotated[int, typer.Option(metavar="N", help="Training examples.")],
    input_information: option.InputBits,
    label_information: option.LabelBits,
    sigma: option.LossDeviation = 0.5,
    as_json: Json = False,
) -> None:
    """Print the largest gap between training and test loss.

    Theorem 2.2, in expectation over data and trainings.
    """
    from noiselimit.information import generalisation_gap

    found = generalisation_gap(input_information, label_information, examples, sigma)
    width = 2 * sigma  # of an interval in which every loss is sigma-sub-Gaussian
    note = f"a loss in an interval of {width:g} has no larger gap" if found >= width > 0 else ""
    facts = {"input_bits": input_information, "label_bits": label_information, "examples": examples}
    answer("gap", found, note, {**facts, "sigma": sigma}, as_json)


@bound.command()
def plot(
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write, ending in .svg.")],
    classes: option.Classes = 10,
    probability: option.SeveralNoises = "0.2,0.4,0.6,0.8",
    as_json: Json = False,
) -> None:
    """Draw the least training error against memorised bits.

    Fig. 2 of the paper: Theorem 2.1 for uniform noise.
    """
    import json

    from noiselimit.cli.values import several
    from noiselimit.files import atomic_file
    from noiselimit.report.fano_chart import fano_chart, fano_curve

    if out.suffix.lower() != ".svg":
        raise InputError(f"out is {out}: name a file that ends in .svg.")
    curves = [fano_curve(value, classes) for value in several("probability", probability)]
    with atomic_file(out) as temporary:
        temporary.write_text(fano_chart(curves, classes), "utf-8")
    if as_json:
        print(json.dumps({"file": str(out), "curves": [curve.to_json() for curve in curves]}))
    else:
        print(f"least training error of {len(curves)} noises written to {out}")
