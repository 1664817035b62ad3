"""The process whose set-up is timed: says 'epoch' at the end of every epoch, and at last what gave way."""

from collections.abc import Sequence
from typing import Any, cast


def main(arguments: Sequence[str]) -> None:
    """Arguments: data set, examples, test examples, device, epochs; precision, kernels and graphs."""
    from noiselimit.bench.notices import heard_notices
    from noiselimit.bench.synthetic import make_data
    from noiselimit.bench.work import DIGITS_LIMIT, MNIST, DataName, Way
    from noiselimit.training import train

    name, examples, test_examples, device, epochs, *ways = arguments
    way = Way(*ways)
    work = DIGITS_LIMIT if name == "digits" else MNIST
    data = make_data(cast("DataName", name), int(examples), int(test_examples))

    def say(progress: Any) -> None:
        if progress.record is not None:
            print("epoch", flush=True)

    specs = work.specs(1, int(epochs), precision=way.precision)
    with heard_notices(pass_on=False) as notices:  # nobody reads our stderr
        (run,) = train(specs, data, device=device, kernels=way.kernels, graphs=way.graphs, progress=say)
    for notice in notices:
        print("notice", " ".join(notice.split()))
    print("examples", run.metrics["train_examples"])
