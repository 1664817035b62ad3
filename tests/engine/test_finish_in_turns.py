"""Rows that leave together may be scored one after another, for want of memory: nothing else changes."""

import numpy as np
import pandas as pd
import pytest

from noiselimit import grid, train
from noiselimit.data.examples import DataSet
from noiselimit.engine import block


def test_scoring_in_turns_changes_nothing(blobs: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    specs = grid(method=["limit-l", "ce"], beta=[3, 10], epochs=3, noise="uniform:0.2")
    together = train(specs, blobs, threads=1, averaged=True)
    monkeypatch.setattr(block, "SCORED_AT_ONCE", 1)
    in_turns = train(specs, blobs, threads=1, averaged=True)
    for one, other in zip(together, in_turns, strict=True):
        pd.testing.assert_frame_equal(one.outputs, other.outputs)
        assert one.metrics["last_gap_auc"] == other.metrics["last_gap_auc"]
        assert one.averaged is not None
        assert other.averaged is not None
        np.testing.assert_array_equal(one.averaged.classifier, other.averaged.classifier)
        assert (one.averaged.predictor is None) == (one.spec.method == "ce")
