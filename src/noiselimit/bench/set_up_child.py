"""The process whose set-up is timed: says 'epoch' at the end of every epoch of its one run."""

from collections.abc import Sequence
from typing import Any, cast


def main(arguments: Sequence[str]) -> None:
    """Arguments: data set, examples, test examples, device, epochs."""
    from noiselimit.bench.synthetic import make_data
    from noiselimit.bench.work import DIGITS_LIMIT, MNIST, DataName
    from noiselimit.training import train

    name, examples, test_examples, device, epochs = arguments
    work = DIGITS_LIMIT if name == "digits" else MNIST
    data = make_data(cast("DataName", name), int(examples), int(test_examples))

    def say(progress: Any) -> None:
        if progress.record is not None:
            print("epoch", flush=True)

    (run,) = train(work.specs(1, int(epochs)), data, device=device, progress=say)
    print("examples", run.metrics["train_examples"])
