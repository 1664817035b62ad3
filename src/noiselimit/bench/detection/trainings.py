"""Everything that is trained and timed for one problem."""

from collections.abc import Callable

import numpy as np

from noiselimit.audit.plan import DEFAULT, FAST, AuditPlan
from noiselimit.audit.train import judge
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
        """`probabilities` [n, C] by which the audit judges, and `seen` [n]: in training or held out."""
        judged = judge(
            data,
            how.plan(plan, seed),
            device=how.device,
            threads=how.threads,
            kernels=how.kernels,
            graphs=how.graphs,
        )
        seen = np.zeros(len(data.examples), np.bool_)
        seen[split_examples(len(seen), seed, validation_share=plan.validation_share).train] = True
        return {"probabilities": judged.pred_probs, "seen": seen, "counted": np.array(judged.counted)}

    return train


TRAININGS: dict[str, Callable[[DataSet, int, How], Arrays]] = {
    "folds": cross_validate,
    "plain": train_plainly,
    "margins": watch_margins,
    "threshold": find_threshold,
    "default": _ours(DEFAULT),
    "fast": _ours(FAST),
}
EFFORT = {"folds": 4.0, "plain": 0.8, "margins": 1.0, "threshold": 2.0, "default": 3.2, "fast": 1.6}
"""About how long each takes, in passes of one network over all examples."""
