"""Which runs train together, and how a cohort is shared out over the cores."""

from collections.abc import Sequence

from noiselimit.methods import get_method
from noiselimit.networks.initial import Role
from noiselimit.spec import RunSpec, architecture


def plan_cohorts(specs: Sequence[RunSpec], *, streamed: bool = False) -> list[list[int]]:
    """Positions of the specs, grouped so that all of a group can be rows of one tensor program.

    Rows need the same shapes (networks, batch size, number of examples) and the same update rule; method,
    hyper-parameters, learning rate, noise, seed and number of epochs may differ from row to row. Where
    pictures are streamed from files, one decoded batch serves all rows, so all must visit the same examples
    in the same order.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, spec in enumerate(specs):
        key = (
            architecture(spec, Role.CLASSIFIER),
            architecture(spec, Role.PREDICTOR),
            spec.batch_size,
            spec.sampler,
            spec.augmentation,
            spec.optimiser,
            spec.precision,
            spec.validation_share,
            spec.validation_labels,
            spec.test_share,
            spec.train_size,
            _shared_order(spec) if streamed else None,
        )
        groups.setdefault(key, []).append(position)
    return list(groups.values())


def _shared_order(spec: RunSpec) -> tuple[object, ...]:
    """What an epoch's order follows from: the seed and, unless it is only shuffled, the noisy labels."""
    return (spec.seed, None if spec.sampler == "shuffled" else spec.noise)


def cost(spec: RunSpec, done: int = 0) -> float:
    """Relative arithmetic of a run of which so many epochs are done: epochs times networks."""
    return (spec.epochs - done) * (2.0 if get_method(spec.method).needs_predictor else 1.0)


def plan_blocks(specs: Sequence[RunSpec], blocks: int, done: Sequence[int] | None = None) -> list[list[int]]:
    """Positions of the specs shared out over at most `blocks` blocks of about equal cost, none empty.

    `done`: epochs of each spec that need not be trained.
    """
    costs = [cost(spec, epochs) for spec, epochs in zip(specs, done or [0] * len(specs), strict=True)]
    shares: list[list[int]] = [[] for _ in range(min(blocks, len(specs)))]
    loads = [0.0] * len(shares)
    for position in sorted(range(len(specs)), key=lambda i: -costs[i]):
        lightest = loads.index(min(loads))
        shares[lightest].append(position)
        loads[lightest] += costs[position]
    return [sorted(share) for share in shares]
