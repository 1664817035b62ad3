"""Ceilings follow from the median of repetitions, and threads are given back."""

from statistics import median

import pytest
import torch

from noiselimit.bench.ceilings import REPEATS, measure_ceilings


def test_ceilings_are_medians_of_what_was_timed():
    before = torch.get_num_threads()
    found = measure_ceilings(torch.device("cpu"), before + 1, quick=True)
    assert torch.get_num_threads() == before
    assert len(found.copy_seconds) == len(found.product_seconds) == REPEATS >= 10
    assert found.precision == "float32"
    assert found.gb_per_s == pytest.approx(2 * found.copy_bytes / median(found.copy_seconds) / 1e9)
    operations = 2 * found.product_side**3
    assert found.tflop_per_s == pytest.approx(operations / median(found.product_seconds) / 1e12)
