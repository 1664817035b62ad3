"""Kernels are launched, or compiled side by side and not launched."""

import threading
from typing import Any

import pytest

from noiselimit.engine.kernels.launch import launch, only_compiling


class Kernel:
    """Notes what is asked of it."""

    def __init__(self, fails: bool = False) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()
        self.fails = fails

    @property
    def fn(self) -> Any:
        return Kernel

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return lambda *arguments, **options: self.asked.append(("launched", grid, arguments, options))

    def warmup(self, *arguments: Any, grid: tuple[int, ...], **options: Any) -> None:
        self.threads.add(threading.get_ident())
        if self.fails:
            raise RuntimeError("does not compile")
        self.asked.append(("compiled", grid, arguments, options))


def test_a_launch_is_a_launch() -> None:
    kernel = Kernel()
    launch(kernel, (2, 3), "x", 5, block=4)
    assert kernel.asked == [("launched", (2, 3), ("x", 5), {"block": 4})]


def test_meanwhile_everything_is_compiled_and_nothing_launched() -> None:
    kernel = Kernel()
    with only_compiling(workers=3):
        for number in range(20):
            launch(kernel, (1,), number, block=number % 4)
    assert {what for what, *_ in kernel.asked} == {"compiled"}
    assert sorted(arguments[0] for _, _, arguments, _ in kernel.asked) == list(range(20))
    assert threading.get_ident() not in kernel.threads
    for block in range(4):  # of one variant in the order of the launches
        of_variant = [arguments[0] for _, _, arguments, options in kernel.asked if options["block"] == block]
        assert of_variant == sorted(of_variant)
    launch(kernel, (1,), "after")
    assert kernel.asked[-1][0] == "launched"


def test_what_does_not_compile_is_said_at_the_end() -> None:
    with pytest.raises(RuntimeError, match="does not compile"), only_compiling(workers=2):
        launch(Kernel(fails=True), (1,))
    kernel = Kernel()
    launch(kernel, (1,))
    assert kernel.asked[-1][0] == "launched"
