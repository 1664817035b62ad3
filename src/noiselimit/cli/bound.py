"""noiselimit bound: the paper's bounds as numbers, and Fig. 2.

A bound is a dataclass: its docstring is the help of the command, and its fields are the options. The fields
have the names of the parameters in `noiselimit.information`, which errors mention.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from noiselimit.cli.options import Json, field_options, path_option, several, with_options
from noiselimit.cli.tables import print_json
from noiselimit.errors import InputError
from noiselimit.fields import option


def required(help: str, **metadata: Any) -> Any:
    """Declare a field without a default: its option is required."""
    return field(metadata={"help": help, **metadata})


Result = tuple[dict[str, float], str]
"""The bound and what it depends on, for --json; why the bound is vacuous, or ''."""


@dataclass(frozen=True, kw_only=True)
class Labels:
    """How many classes there are, and how noisy the labels are."""

    classes: int = required("Number of classes.", metavar="K", min=2)
    probability: float | None = option(
        None, "Share of labels replaced by another, uniformly.", name="noise", metavar="P"
    )
    noise_entropy: float | None = option(
        None, "Instead of --noise: H(y|x) in bits.", name="entropy", metavar="BITS"
    )

    def entropy(self) -> float:
        """H(y|x) in bits."""
        from noiselimit.information import uniform_noise_entropy
        from noiselimit.information.entropy import numbers

        if (self.probability is None) == (self.noise_entropy is None):
            raise InputError("give either --noise or --entropy.")
        if self.probability is not None:
            return float(uniform_noise_entropy(self.probability, self.classes))
        return float(numbers("noise_entropy", self.noise_entropy))


@dataclass(frozen=True, kw_only=True)
class Fano(Labels):
    """Print the lowest training error that memorised bits allow.

    Theorem 2.1, in expectation over data and training. The error is measured on the noisy labels.
    """

    information: float = required("I(w;Y|X) per label: what the weights hold.", name="bits", metavar="BITS")

    def compute(self) -> Result:
        from noiselimit.information import least_error

        entropy = self.entropy()
        error = least_error(entropy, self.information, self.classes)
        note = f"no error is implied, since a label holds {entropy:.3g} bits of noise" if error == 0 else ""
        facts = {"classes": self.classes, "noise_entropy": entropy, "bits": self.information}
        return {"least_error": error, **facts}, note


@dataclass(frozen=True, kw_only=True)
class Memorised(Labels):
    """Print the fewest bits that a training error implies.

    Theorem 2.1 solved for the bits memorised per label. It holds for the mean over training runs.
    """

    error: float = required("Training error on the given, noisy labels.", metavar="R")

    def compute(self) -> Result:
        from noiselimit.information import least_information

        entropy = self.entropy()
        bits = least_information(entropy, self.error, self.classes)
        bits = bits if bits > 1e-12 else 0.0  # a rounding error
        note = "such an error needs no memorised bits" if bits == 0 else ""
        facts = {"classes": self.classes, "noise_entropy": entropy, "error": self.error}
        return {"least_bits": bits, **facts}, note


@dataclass(frozen=True, kw_only=True)
class Capacity(Labels):
    """Print the most bits that noisy gradients can carry.

    Proposition 3.1, per label and summed over the passes; for Laplace noise the corrected bound.
    """

    mean_square_norm: float = required(
        "Mean of ‖μ‖², the gradient without noise.", name="square_norm", metavar="N"
    )
    sigma: float = required("Standard deviation of each component's noise.", metavar="S")
    distribution: str = option("gaussian", "gaussian or laplace.", metavar="NAME")
    passes: int = option(1, "Passes over the data.", metavar="T", min=1)
    dimension: int | None = option(None, "Numbers in a gradient.", metavar="D", shown="the number of classes")

    def compute(self) -> Result:
        from noiselimit.information import gradient_capacity

        noise_is_known = self.probability is not None or self.noise_entropy is not None
        entropy = self.entropy() if noise_is_known else math.log2(self.classes)
        size = self.classes if self.dimension is None else self.dimension
        each = gradient_capacity(self.mean_square_norm, size, self.sigma, cast(Any, self.distribution))
        bits = self.passes * each
        note = f"a label holds {entropy:.3g} bits at most" if bits >= entropy else ""
        facts = {"bits_per_gradient": each, "passes": self.passes, "noise_entropy": entropy}
        return {"most_bits": bits, **facts}, note


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Print the largest gap between training and test loss.

    Theorem 2.2, in expectation over data and training.
    """

    examples: int = required("Training examples.", metavar="N")
    input_information: float = required(
        "I(w;X), of the whole training set.", name="input_bits", metavar="BITS"
    )
    label_information: float = required(
        "I(w;Y|X), of the whole training set.", name="label_bits", metavar="BITS"
    )
    sigma: float = option(0.5, "The loss is S-sub-Gaussian; 0.5 for one in [0, 1].", metavar="S")

    def compute(self) -> Result:
        from noiselimit.information import generalisation_gap

        gap = generalisation_gap(self.input_information, self.label_information, self.examples, self.sigma)
        width = 2 * self.sigma  # of an interval in which every loss is sigma-sub-Gaussian
        note = f"a loss in an interval of {width:g} has no larger gap" if gap >= width > 0 else ""
        bits = {"input_bits": self.input_information, "label_bits": self.label_information}
        return {"gap": gap, **bits, "examples": self.examples, "sigma": self.sigma}, note


GUIDE = "Guide: noiselimit docs information"
bound = typer.Typer(rich_markup_mode=None, epilog=GUIDE)


@bound.callback(invoke_without_command=True)
def _bound(context: typer.Context) -> None:
    """Compute the paper's bounds on errors and memorised bits."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def _command(kind: type[Any]) -> Callable[..., Any]:
    """Print the number on stdout and, if the bound is vacuous, the reason on stderr."""

    @with_options(chosen=field_options(kind))
    def command(*, chosen: Any, as_json: Json = False) -> None:
        found, vacuous = chosen.compute()
        if as_json:
            print_json({**found, "vacuous": bool(vacuous)})
            return
        value = next(iter(found.values()))
        print(f"{value:.3g}" if value < 100 else f"{value:.0f}")
        if vacuous:
            print(f"vacuous: {vacuous}", file=sys.stderr)

    return command


for _kind in (Fano, Memorised, Capacity, Gap):
    bound.command(_kind.__name__.lower(), help=_kind.__doc__, epilog=GUIDE)(_command(_kind))


@bound.command(epilog=GUIDE)
def plot(
    out: Annotated[Path, path_option("FILE", "File to write, ending in .svg.")],
    classes: Annotated[int, typer.Option(metavar="K", min=2, help="Number of classes.")] = 10,
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
