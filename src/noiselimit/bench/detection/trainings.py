"""Everything that is trained and timed for one problem."""

import dataclasses
import json
from collections.abc import Callable

import numpy as np

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.audit.train import Judged, judge
from noiselimit.bench.detection.how import How
from noiselimit.bench.detection.peers import (
    Arrays,
    cross_validate,
    find_threshold,
    train_plainly,
    watch_margins,
)
from noiselimit.data.examples import DataSet
from noiselimit.split import split_examples


def _ours(plan: AuditPlan) -> Callable[[DataSet, int, How], Arrays]:
    def train(data: DataSet, seed: int, how: How) -> Arrays:
        """`probabilities` [n, C] by which the audit judges, and `unscaled` without regard to memory; `seen`
        [n]: in training or held out; and its words."""
        # Epochs that everybody trains are the usual ones of these data; an audit may take a share of them.
        usual = {} if how.epochs is None else {"epochs": how.epochs}
        judged = judge(
            dataclasses.replace(data, defaults={**data.defaults, **usual}),
            dataclasses.replace(how.plan(plan, seed), epochs=None),
            device=how.device,
            threads=how.threads,
            kernels=how.kernels,
            graphs=how.graphs,
            unscaled=True,
        )
        seen = np.zeros(len(data.examples), np.bool_)
        seen[split_examples(len(seen), seed, validation_share=plan.validation_share).train] = True
        return {
            "probabilities": judged.pred_probs,
            "unscaled": judged.pred_probs if judged.unscaled is None else judged.unscaled,
            "seen": seen,
            "trained": np.array(_trained(judged)),
            "warning": np.array(judged.learned.warning or ""),
            "known_from": np.array(judged.known_from),
        }

    return train


def _trained(judged: Judged) -> str:
    """What the audit trained, as JSON: it has its own mind about methods and epochs."""
    return json.dumps(
        [
            {"method": run.spec.method, **run.spec.hyper, "epochs": run.spec.epochs, "counted": counted}
            for run, counted in zip(judged.runs, judged.counted, strict=True)
        ]
    )


TRAININGS: dict[str, Callable[[DataSet, int, How], Arrays]] = {
    "folds": cross_validate,
    "plain": train_plainly,
    "margins": watch_margins,
    "threshold": find_threshold,
    "default": _ours(DEFAULT),
    "fast": _ours(FAST),
}
EFFORT = {"folds": 4.0, "plain": 0.8, "margins": 1.0, "threshold": 2.0, "default": 3.2, "fast": 1.3}
"""About how long each takes, in passes of one network over all examples."""
