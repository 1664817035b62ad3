"""An audit says when its networks learned too little to fit anybody, or learned labels by heart."""

from dataclasses import replace

import numpy as np
import pytest

from noiselimit.audit.diagnostics import Diagnosis, check_learning
from noiselimit.audit.fit import audit_data
from noiselimit.audit.noise_rate import Agreement
from noiselimit.audit.plan import AuditPlan
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.runs.run import Run
from noiselimit.runs.spec import RunSpec
from noiselimit.training import train

GOOD = Agreement(0.9, 0.33, 100)
SLOWLY = (0.3, 0.4, 0.5, 0.6, 0.7, 0.7, 0.8, 0.8)


@pytest.fixture(scope="module")
def run(blobs: DataSet) -> Run:
    return train(RunSpec("limit-l", epochs=1), blobs)[0]


def that_learned(run: Run, training: tuple[float, ...], held_out: tuple[float, ...] | None = None) -> Run:
    curves = zip(training, held_out or training, strict=True)
    history = [{"train_accuracy": one, "validation_accuracy": other} for one, other in curves]
    return replace(run, history=history)


@pytest.mark.parametrize(
    ("agreement", "enough"),
    [
        (Agreement(12 / 16, 0.5, 16), True),
        (Agreement(11 / 16, 0.5, 16), False),
        (Agreement(6 / 6, 0.5, 6), True),  # few, but all of them
        (Agreement(0.56, 0.5, 60), False),
        (Agreement(0.56, 0.5, 2000), True),
        (Agreement(0.52, 0.5, 10**6), False),  # certainly more than chance, and next to nothing
        (Agreement(0.2, 0.1, 360), True),  # all that can be reached with 80 % of ten classes wrong
        (Agreement(0.13, 0.1, 360), False),
        (Agreement(0.98, 0.905, 200), True),  # one example in twenty is of the other class, most are found
        (Agreement(0.95, 0.95, 10**6), False),  # none is
        (Agreement(1.0, 1.0, 50), False),
    ],
)
def test_agreement_must_be_more_than_chance_would_make_of_it(
    run: Run, agreement: Agreement, enough: bool
) -> None:
    said = check_learning([run], agreement)
    assert said.note is None
    assert (said.warning is None) == enough


def test_the_warning_says_what_was_seen_and_what_to_try(run: Run) -> None:
    said = check_learning([run], Agreement(0.52, 0.5, 1234)).warning
    assert said is not None
    assert "agree with 52.0\u00a0% of the 1,234 labels that were held out" in said
    assert "with 50.0\u00a0% by chance" in said
    assert "a lower --learning-rate such as 0.0003, more --epochs" in said
    assert "they learned next to nothing" in said
    assert said.endswith(".")
    assert ". " not in said
    assert "of so few labels that says too little" in str(check_learning([run], Agreement(1, 0.625, 8, 2)))


def test_what_still_rises_on_held_out_labels_too_is_learning(run: Run) -> None:
    said = check_learning([that_learned(run, SLOWLY)], GOOD)
    assert said.warning is None, "labels can be fitted, though worse than they might be"
    assert said.note is not None
    assert "their 8 epochs were over" in said.note
    assert "70.0\u00a0%" in said.note
    assert "80.0\u00a0%" in said.note
    settled = that_learned(run, (0.3, 0.6, 0.7, 0.75, 0.78, 0.8, 0.82, 0.83))
    assert check_learning([settled], GOOD) == Diagnosis()
    assert check_learning([that_learned(run, (0.1, 0.9, 0.95))], GOOD) == Diagnosis()  # too short to tell


@pytest.mark.parametrize("held_out", [(0.7, 0.7), (0.7, 0.74), (0.75, 0.6)])
def test_what_rises_on_labels_that_train_alone_is_memorised(run: Run, held_out: tuple[float, float]) -> None:
    curve = (0.3, 0.4, 0.5, 0.6, *np.repeat(held_out, 2).tolist())
    said = check_learning([that_learned(run, SLOWLY, curve)], GOOD)
    assert said.warning is None
    assert said.note is not None
    assert "went from 70.0\u00a0% to 80.0\u00a0%, with held-out ones from 7" in said.note
    assert said.note.endswith("try a larger --beta or fewer --epochs.")


def test_memorising_may_be_slow(run: Run) -> None:
    training, held_out = (0.5, 0.55, 0.6, 0.63, 0.65, 0.65, 0.68, 0.68), (0.5,) * 6 + (0.49,) * 2
    assert check_learning([that_learned(run, training, held_out)], GOOD).note is not None
    assert check_learning([that_learned(run, training)], GOOD) == Diagnosis()
    settled = (*training[:6], 0.67, 0.67)
    assert check_learning([that_learned(run, settled, held_out)], GOOD) == Diagnosis()


def test_the_run_that_is_best_on_held_out_labels_decides(run: Run) -> None:
    slow, quick = that_learned(run, SLOWLY), that_learned(run, (0.9,) * 8)
    for both in ([slow, quick], [quick, slow]):
        assert check_learning(both, GOOD) == Diagnosis()
    assert check_learning([slow], GOOD).note is not None


def dice(examples: int, seed: int, classes: int = 2) -> DataSet:
    """Labels that have nothing to do with the inputs."""
    generator = np.random.default_rng(seed)
    inputs, labels = generator.normal(size=(examples, 4)), generator.integers(0, classes, examples)
    return DataSet("dice", make_examples(inputs, labels))


@pytest.mark.parametrize("examples", [80, 150, 300])
def test_of_dice_nothing_is_said_and_nothing_flagged(examples: int) -> None:
    audit, fitted = audit_data(dice(examples, 1, 3), AuditPlan(epochs=12), threads=1)
    assert fitted.learned.warning is not None
    assert audit.warning == fitted.learned.warning
    assert not audit.table["is_label_issue"].any()


@pytest.mark.slow
def test_dice_hardly_ever_pass() -> None:
    """Of a hundred, one or two do, which is what chance makes of it; here fewer are thrown."""
    plan = AuditPlan(epochs=12)
    warned = [
        audit_data(dice(examples, seed), replace(plan, seeds=(seed,)), threads=1)[0].warning is not None
        for examples in (80, 150, 300)
        for seed in range(8)
    ]
    assert sum(warned) >= 22


@pytest.mark.parametrize("rare", [2, 10])
def test_inputs_that_are_all_alike_say_nothing(rare: int) -> None:
    labels = np.arange(200) % rare == 0
    alike = DataSet("alike", make_examples(np.ones((200, 3)), labels.astype(np.int64)))
    audit, _ = audit_data(alike, AuditPlan(epochs=8), threads=1)
    assert audit.flags_withheld


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "least", "most"), [("uniform:0.4", 0.35, 0.45), ("uniform:0.8", 0.5, 0.9)])
def test_many_wrong_labels_are_no_reason_to_say_nothing(noise: str, least: float, most: float) -> None:
    from noiselimit import load_data
    from noiselimit.noise import parse_noise

    data = load_data("digits")
    audit, _ = audit_data(replace(data, examples=parse_noise(noise).apply(data.examples, 0)), threads=1)
    assert audit.warning is None
    assert least < audit.noise_rate.rate < most
