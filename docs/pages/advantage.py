"""How much likelier a right label is than any one of the wrong ones: all that noisy labels tell."""


def advantage(right: float, classes: int) -> float:
    """Share of right labels, less that of each other class, which share the rest evenly."""
    return right - (1 - right) / (classes - 1)
