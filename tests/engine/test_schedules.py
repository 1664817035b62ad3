import pytest

from noiselimit.engine.optimisers import SCHEDULES


def test_constant_stays_and_cosine_falls_from_one_to_zero() -> None:
    assert SCHEDULES["constant"](0.7) == 1.0
    assert SCHEDULES["cosine"](0.0) == 1.0
    assert SCHEDULES["cosine"](0.5) == pytest.approx(0.5)
    assert SCHEDULES["cosine"](1.0) == pytest.approx(0.0)
