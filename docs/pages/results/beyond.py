"""How MNIST's cells stand to the paper's beyond what was claimed, in docs/results-details.md."""

from pages.results.below import above_text, explained, others
from pages.results.choice import how_sure
from pages.results.claims import on_mnist
from pages.results.numbers import Measured


def beyond(measured: Measured) -> str:
    """Other methods, cells that are above, how sure choices are, and the grids of LIMIT's cells below."""
    mnist = on_mnist(measured)
    parts = [
        *([f"- MNIST, LIMIT:{above_text(mnist.run)}"] if above_text(mnist.run) else []),
        *([others(mnist.others)] if mnist.others else []),
        *filter(None, [how_sure([*mnist.run, *mnist.others], measured)]),
    ]
    tables = [explained(result, measured) for result in mnist.below]
    return "\n\n".join(["\n".join(parts), *tables]) if parts or tables else "No run yet."
