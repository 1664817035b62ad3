from noiselimit.data.examples import DataSet
from noiselimit.engine.preparation import prepare, prepare_all
from noiselimit.noise import parse_noise
from noiselimit.runs.spec import RunSpec


def test_noise_hits_training_and_validation_but_not_test(blobs: DataSet) -> None:
    run = prepare(RunSpec(noise=parse_noise("uniform:1")), blobs)
    wrong = run.examples.wrong
    assert wrong is not None
    assert wrong[run.split.train].all()
    assert wrong[run.split.validation].all()
    assert not wrong[run.split.test].any()


def test_without_noise_nobody_claims_to_know_the_clean_labels(blobs: DataSet) -> None:
    assert prepare(RunSpec(), blobs).examples.clean_labels is None


def test_runs_that_differ_in_method_only_share_their_preparation(blobs: DataSet) -> None:
    noise = parse_noise("uniform:0.5")
    first, second, third = prepare_all(
        [RunSpec("ce", noise=noise), RunSpec("limit-l", noise=noise), RunSpec("ce", seed=1, noise=noise)],
        blobs,
    )
    assert first is second
    assert first is not third
