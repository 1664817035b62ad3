"""What a measurement leaves in the file: one object per row of the table or point of a sweep."""

from collections.abc import Mapping
from typing import Any

from noiselimit.bench.counting import Cost
from noiselimit.bench.timing import Timed

Entry = dict[str, Any]


def timed_entry(timed: Timed, cost: Cost, seconds: float | None = None) -> Entry:
    """A timed cohort; `seconds` per run and epoch if they come from elsewhere than its epochs.

    `tflop_per_s` and `gb_per_s` are what the counted operations and bytes come to in that time: modelled
    from the layers, read from no counter of the device.
    """
    each = timed.seconds if seconds is None else seconds
    return {
        "seconds": each,
        "run_epochs_per_second": 1 / each,
        "tflop_per_s": cost.operations / each / 1e12,
        "gb_per_s": cost.bytes / each / 1e9,
        "operations": cost.operations,
        "bytes": cost.bytes,
        "k": timed.runs,
        "n": timed.train_examples,
        "batch": timed.work.batch_size,
        "network": timed.work.network,
        "method": timed.work.method,
        "repeats": len(timed.counted_seconds),
        "warm_up": timed.warm_up,
        "parts": timed.parts,
        "epoch_seconds": list(timed.all_seconds),
        "median_epoch_seconds": timed.median_seconds,
        "peak_memory": timed.peak_memory,
        "peak_reserved": timed.peak_reserved,
        "notices": list(timed.notices),
    }


def with_shares(entry: Entry, ceilings: Mapping[str, Any] | None, *, comparable: bool = True) -> Entry:
    """The entry with its shares of the device's ceilings, where it was counted and these were measured.

    Shares are None where the two are not `comparable`.
    """
    if ceilings is None or "tflop_per_s" not in entry:
        return entry
    if not comparable:
        return {**entry, "share_of_tflop": None, "share_of_gb": None}
    return {
        **entry,
        "share_of_tflop": entry["tflop_per_s"] / ceilings["tflop_per_s"],
        "share_of_gb": entry["gb_per_s"] / ceilings["gb_per_s"],
    }
