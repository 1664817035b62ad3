"""Kernels are launched, or compiled in parallel and not launched."""

import threading
from typing import Any

import pytest

from noiselimit.engine.kernels.launch import launch, only_compiling


class Kernel:
    """Records its launches and compilations."""

    def __init__(self, fails: bool = False) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fails = fails
        self.fn = Kernel

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        return lambda *arguments, **options: self.calls.append(("launched", grid, arguments, options))

    def warmup(self, *arguments: Any, grid: tuple[int, ...], **options: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        if self.fails:
            raise RuntimeError("does not compile")
        self.calls.append(("compiled", grid, arguments, options))


def test_inside_the_context_kernels_are_compiled_and_not_launched() -> None:
    kernel = Kernel()
    with only_compiling(workers=3):
        for number in range(20):
            launch(kernel, (1,), number, block=number % 4)
    assert {what for what, *_ in kernel.calls} == {"compiled"}
    assert sorted(arguments[0] for _, _, arguments, _ in kernel.calls) == list(range(20))
    for block in range(4):  # each variant in the order of its launches
        numbers = [arguments[0] for _, _, arguments, options in kernel.calls if options["block"] == block]
        assert numbers == sorted(numbers)
    with pytest.raises(RuntimeError, match="does not compile"), only_compiling(workers=2):
        launch(Kernel(fails=True), (1,))
    launch(kernel, (2, 3), "x", 5, block=4)
    assert kernel.calls[-1] == ("launched", (2, 3), ("x", 5), {"block": 4})
