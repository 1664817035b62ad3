import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from noiselimit.runs.result import roc_auc
from noiselimit.tasks import CLASSIFICATION


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 50))
def test_gap_is_the_norm_and_quality_lies_between_zero_and_one(seed: int, classes: int, count: int) -> None:
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.full(classes, 0.3), count)
    labels = generator.integers(classes, size=count)
    gaps = CLASSIFICATION.gaps(probabilities, labels)
    np.testing.assert_allclose(
        gaps, np.linalg.norm(np.eye(classes)[labels] - probabilities, axis=1), atol=1e-12
    )
    quality = CLASSIFICATION.quality(gaps)
    assert ((quality >= 0) & (quality <= 1)).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_roc_auc_equals_scikit_learns_ties_included(rows: list[tuple[int, bool]]) -> None:
    gaps, wrong = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    found = roc_auc(gaps, wrong)
    if wrong.all() or not wrong.any():
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score(wrong, gaps))
