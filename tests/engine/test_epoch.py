from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.epoch import batch_bounds


@given(count=st.integers(2, 5000), size=st.integers(2, 600))
def test_batches_cover_every_example_once_and_none_is_a_single(count: int, size: int) -> None:
    bounds = batch_bounds(count, size)
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(count))
    lengths = [stop - start for start, stop in bounds]
    assert all(length == size for length in lengths[:-1])
    assert 2 <= lengths[-1] <= size + 1
