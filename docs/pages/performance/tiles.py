"""How the tiles of the convolution compare: a table of docs/performance.md."""

from collections.abc import Mapping
from typing import Any

from pages.performance.words import count, markdown, measured_on

NAMES = {"forward": "forward", "input_gradient": "gradient of the input", "weight_gradient": "of the weights"}


def table(results: Mapping[str, Any]) -> str:
    """Every product: how many tiles were timed, the best, the worst and the one that the rules choose."""
    from measure_tiles import row, usual

    lines = []
    for layer, product in dict.fromkeys((each["layer"], each["product"]) for each in results["rows"]):
        own = [each for each in results["rows"] if (each["layer"], each["product"]) == (layer, product)]
        times = sorted(each["microseconds"] for each in own)
        chosen = row((layer, product, usual(layer, product)), 0.0)["tile"]
        used = next((each["microseconds"] for each in own if each["tile"] == chosen), None)
        cells = (f"{times[0]:g}", "–" if used is None else f"{used:g}", f"{times[-1]:g}")
        lines.append([layer, NAMES[product], count(len(own)), *cells])
    columns = ["channels", "product", "tiles timed", "fastest, µs", "used, µs", "slowest, µs"]
    return (
        f"{markdown(columns, lines, words=2)}\n\n{results['networks']} networks, batches of "
        f"{results['batch']}, bfloat16. Rules choose the tile, so that nothing is searched for at run time. "
        f"Measured on {measured_on(results)}."
    )
