"""How an epoch is cut into batches."""


def batch_bounds(count: int, size: int) -> list[tuple[int, int]]:
    """(start, stop) of every batch; the last may be shorter, and nobody is left out or seen twice.

    A last batch of a single example joins the one before it: batch-norm has no variance of one value.
    """
    starts = list(range(0, count, size))
    if count % size == 1 and len(starts) > 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], count], strict=True))
