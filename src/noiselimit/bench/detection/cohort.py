"""Runs whose splits, and labels if need be, are given by hand, as one cohort of the engine."""

import dataclasses
from collections.abc import Sequence

from noiselimit.bench.detection.how import How
from noiselimit.cohort.device import find_device
from noiselimit.cohort.outcome import Finished
from noiselimit.cohort.pace import find_pace
from noiselimit.cohort.prepare import PreparedRun, prepare
from noiselimit.cohort.train import Listener, train_cohort
from noiselimit.cohort.watch import MakeWatch
from noiselimit.data.examples import DataSet
from noiselimit.data.labels import Labels
from noiselimit.machine import available_cores
from noiselimit.spec import RunSpec
from noiselimit.split import Split


def train_together(
    specs: Sequence[RunSpec],
    splits: Sequence[Split],
    data: DataSet,
    how: How,
    watched: MakeWatch,
    labels: Sequence[Labels] | None = None,
) -> list[Finished]:
    """In the order of the specs; `labels` [n] of each run, where they differ from run to run."""
    device = find_device(how.device)
    prepared = [_prepared(spec, split, data) for spec, split in zip(specs, splits, strict=True)]
    if labels is not None:
        prepared = [
            dataclasses.replace(run, examples=dataclasses.replace(run.examples, labels=own))
            for run, own in zip(prepared, labels, strict=True)
        ]
    rows: dict[int, Finished] = {}

    def on_finished(finished: Finished) -> None:
        if finished.failure is not None:
            raise RuntimeError(finished.failure)
        rows[finished.row] = finished

    train_cohort(
        specs,
        prepared,
        [None] * len(specs),
        data,
        device=device,
        threads=available_cores() if how.threads is None else how.threads,
        threads_per_block=1,
        pace=find_pace(how.kernels, how.graphs, device),
        listener=Listener(lambda row, record: None, on_finished),
        watched=watched,
    )
    return [rows[number] for number in range(len(specs))]


def _prepared(spec: RunSpec, split: Split, data: DataSet) -> PreparedRun:
    return dataclasses.replace(prepare(spec, data), split=split)
