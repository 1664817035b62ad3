"""Times are told no more exactly than they are known."""

import pytest

from noiselimit.cli.durations import duration


@pytest.mark.parametrize(
    ("seconds", "told", "scaled"),
    [
        (None, "–", "–"),
        (0.0, "0", "0"),
        (0.4, "< 1 s", "< 1 s"),
        (7.3, "7 s", "~7 s"),
        (47.0, "47 s", "~50 s"),
        (90.0, "1.5 min", "~2 min"),
        (35.96 * 60, "36 min", "~40 min"),
        (16_000.0, "4.4 h", "~4 h"),
        (9.97 * 3600, "10 h", "~10 h"),
        (1834 * 3600.0, "1,800 h", "~2,000 h"),
        (700_123 * 3600.0, "700,000 h", "~700,000 h"),
    ],
)
def test_two_digits_are_told_and_of_what_is_scaled_one(seconds, told, scaled):
    assert (duration(seconds), duration(seconds, scaled=True)) == (told, scaled)
