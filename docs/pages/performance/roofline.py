"""What the hardware allows: operations and bytes, and their floors in seconds, for docs/performance.md."""

from collections.abc import Mapping
from typing import Any

from noiselimit.bench.counting import network_operations
from noiselimit.bench.traffic import OPTIMISER_BYTES, network_traffic
from noiselimit.bench.work import CIFAR_CE, CLASSES, MNIST
from noiselimit.cli.bench_tables import number
from pages.performance.words import WORK, count, large, markdown, seconds, times

Content = Mapping[str, Any]


def floors(bench: Content) -> str:
    """What operations and bytes would take at the ceilings, and how far from that the measured time is."""
    ceilings, rows = bench["ceilings"], []
    for row in bench["rows"]:
        if "operations" not in row:
            continue
        arithmetic, memory = floor_seconds(row, ceilings)
        rows.append(
            [
                WORK[row["row"]],
                f"{large(row['operations'])}FLOP",
                f"{large(row['bytes'])}B",
                seconds(arithmetic),
                seconds(memory),
                seconds(row["seconds"]),
                times(row["seconds"] / max(arithmetic, memory)),
            ]
        )
    columns = "work, operations, bytes, arithmetic's floor, memory's floor, measured, measured ÷ higher floor"
    return "\n\n".join(
        [markdown(columns.split(", "), rows), f"Per run and epoch. {ceilings_sentence(bench)}"]
    )


def floor_seconds(entry: Content, ceilings: Content) -> tuple[float, float]:
    """(arithmetic, memory): the least time at the device's ceilings."""
    return (
        entry["operations"] / (1e12 * ceilings["tflop_per_s"]),
        entry["bytes"] / (1e9 * ceilings["gb_per_s"]),
    )


def counts() -> str:
    """What one network asks of the hardware for one example, counted from its layers."""
    rows = []
    for work in (MNIST, CIFAR_CE):
        operations = network_operations(work.network, work.input_shape, CLASSES)
        traffic = network_traffic(work.network, work.input_shape, CLASSES)
        rows.append(
            [
                f"`{work.network}`",
                f"{large(operations.training)}FLOP",
                f"{large(operations.forward)}FLOP",
                large(traffic.training_values).strip(),
                large(traffic.evaluation_values).strip(),
                count(traffic.parameters),
            ]
        )
    columns = "network, training, evaluation, values moved in training, in evaluation, parameters"
    return (
        markdown(columns.split(", "), rows)
        + f"\n\nPer network and example. Adam adds {OPTIMISER_BYTES} bytes per parameter and step."
    )


def ceilings_sentence(bench: Content) -> str:
    """What the shares and floors are measured by."""
    ceilings = bench["ceilings"]
    return (
        f"Ceilings, measured on the same device: {number(ceilings['tflop_per_s'])} TFLOP/s (a product of "
        f"large {ceilings['precision']} matrices) and {number(ceilings['gb_per_s'])} GB/s (a copy, bytes "
        "read and written)."
    )
