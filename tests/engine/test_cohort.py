from hypothesis import given
from hypothesis import strategies as st

from noiselimit.engine.cohort import cost, plan_blocks, plan_cohorts
from noiselimit.runs.spec import grid


def test_method_hyper_parameters_seed_and_rate_share_a_cohort() -> None:
    methods = ["ce", "limit-l", "limit-g+s", "fw"]
    specs = grid(method=methods, beta=[1, 10], seed=[0, 1], learning_rate=[1e-3, 1e-2], network="mlp")
    assert plan_cohorts(specs) == [list(range(len(specs)))]


def test_streamed_pictures_separate_different_orders() -> None:
    assert plan_cohorts(grid(beta=[1, 10], seed=[0, 1], network="mlp"), streamed=True) == [[0, 2], [1, 3]]
    noises = {"noise": ["none", "uniform:0.5"], "network": "mlp"}
    assert plan_cohorts(grid(sampler="shuffled", **noises), streamed=True) == [[0, 1]]
    assert plan_cohorts(grid(sampler="balanced", **noises), streamed=True) == [[0], [1]]


def test_shapes_and_update_rules_separate_cohorts() -> None:
    for name, values in {
        "batch_size": [8, 16],
        "network": ["mlp", "mlp-4x512"],
        "optimiser": ["adam", "sgd"],
        "train_size": [10, 20],
        "augmentation": ["none", "flip"],
        "sampler": ["shuffled", "balanced"],
        "dropout": [0, 0.5],
        "predictor_network": ["mlp", "linear"],
        "predictor_features": ["a.b:c", "a.b:d"],
        "method": ["limit-l", "soft-penalty"],
    }.items():
        assert plan_cohorts(grid(**{"network": "mlp", name: values})) == [[0], [1]]


@given(betas=st.integers(1, 9), baselines=st.integers(0, 9), blocks=st.integers(1, 5))
def test_blocks_hold_all_rows_and_cost_about_the_same(betas: int, baselines: int, blocks: int) -> None:
    specs = grid(method="limit-l", beta=list(range(betas))) + grid(method="ce", seed=list(range(baselines)))
    shares = plan_blocks(specs, blocks)
    assert sorted(i for share in shares for i in share) == list(range(len(specs)))
    assert len(shares) == min(blocks, len(specs))
    loads = [sum(cost(specs[i]) for i in share) for share in shares]
    assert max(loads) - min(loads) <= max(map(cost, specs))
