"""Theorem 2.1 and its remarks: against enumeration, the paper's examples, the edges."""

import numpy as np
import pytest
from enumerated import DRAWS, Problems, Shape, any_problems, bits
from hypothesis import given, settings
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.information import binary_entropy, least_error, least_information, uniform_noise_entropy

P = [0.2, 0.4, 0.6, 0.8]


def right_side(error, classes):
    return error * np.log2(classes - 1) + binary_entropy(error)


def test_the_papers_examples():
    entropy = uniform_noise_entropy(0.8, 10)
    assert least_error(entropy, 0, 10) == pytest.approx(0.8, abs=1e-12)
    assert least_error(entropy, 1, 10) == pytest.approx(0.405, abs=5e-4)
    assert least_error(entropy * np.log(2), np.log(2), 10, unit="nats") == pytest.approx(
        least_error(entropy, 1, 10), abs=1e-12
    )


@settings(max_examples=DRAWS, deadline=None)
@given(any_problems())
def test_enumerated_learners_obey_it_both_ways(found: Problems):
    n, k = found.shape.examples, found.shape.classes
    information = np.maximum(found.label_information / n, 0)
    entropy = np.maximum(found.label_entropy, 0)
    assert (least_error(entropy, information, k) <= found.training_error + 1e-9).all()
    assert (least_information(entropy, np.clip(found.training_error, 0, 1), k) <= information + 1e-9).all()


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_label_seen_through_a_symmetric_channel_reaches_the_bound(classes):
    """Any label, weights that hold it up to uniform mistakes of rate q: equality in Fano for every q."""
    q = np.linspace(0, (classes - 1) / classes, 60)
    channel = np.full((60, classes, classes), 1.0) * (q / (classes - 1))[:, None, None]
    channel[:, np.arange(classes), np.arange(classes)] = (1 - q)[:, None]
    say = np.broadcast_to(np.eye(classes), (60, 1, classes, classes))
    example = np.full((60, 1, classes), 1 / classes)
    found = Problems(Shape(1, 1, classes, classes, 0), example, example, channel[:, None], say)
    assert found.training_error == pytest.approx(q)
    # At its maximum the right side is flat, where 1e-16 bits are 1e-8 of error.
    assert least_error(found.label_entropy, np.maximum(found.label_information, 0), classes) == pytest.approx(
        q, abs=1e-7
    )
    assert least_information(found.label_entropy, q, classes) == pytest.approx(
        found.label_information, abs=1e-12
    )


@given(p=st.floats(0, 1), classes=st.integers(2, 1000))
def test_tight_for_uniform_noise_without_information(p, classes):
    """Remark 3: predicting the clean class makes errors at rate p, and nothing can do better."""
    p *= (classes - 1) / classes
    entropy = uniform_noise_entropy(p, classes)
    error = least_error(entropy, 0, classes)
    assert error <= p + 1e-12
    assert abs(right_side(error, classes) - entropy) < 1e-9
    assert error == pytest.approx(p, abs=1e-9 if p < 0.99 * (classes - 1) / classes else 1e-6)
    assert least_information(entropy, p, classes) == pytest.approx(0, abs=1e-12)


@given(share=st.floats(0, 1), known=st.floats(0, 1), classes=st.integers(2, 10**6))
def test_the_inequality_is_an_equality_at_the_answer(share, known, classes):
    entropy = share * np.log2(classes)
    error = least_error(entropy, known * entropy, classes)
    assert 0 <= error <= (classes - 1) / classes
    assert abs(right_side(error, classes) - entropy * (1 - known)) < 1e-9


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("unit", ["bits", "nats"])
def test_edges(classes, unit):
    most = uniform_noise_entropy((classes - 1) / classes, classes, unit=unit)
    assert most == pytest.approx(np.log2(classes) if unit == "bits" else np.log(classes), abs=1e-12)
    assert least_error(0, 0, classes, unit=unit) == 0
    assert least_error(most, most, classes, unit=unit) == 0
    assert least_error(most, 5 * most, classes, unit=unit) == 0  # vacuous, and said as 0
    assert least_error(most, 0, classes, unit=unit) == pytest.approx((classes - 1) / classes, abs=1e-7)
    assert least_information(most, 0, classes, unit=unit) == pytest.approx(most, abs=1e-12)
    always_wrong = np.log2(classes - 1) if unit == "bits" else np.log(classes - 1)
    assert least_information(most, 1, classes, unit=unit) == pytest.approx(most - always_wrong, abs=1e-12)
    assert least_information(0, 0.3, classes, unit=unit) == 0


def test_of_two_classes_only_the_error_matters():
    """Remark 2: H(r) ≥ H(y|x) − I."""
    error = least_error(1, [0.0, 0.25, 0.5, 1.0], 2)
    assert binary_entropy(error) == pytest.approx([1, 0.75, 0.5, 0], abs=1e-9)


def test_the_two_functions_undo_each_other_and_broadcast():
    entropy = uniform_noise_entropy(np.array(P)[:, None], 10)
    known = np.linspace(0, 1, 7) * entropy
    error = least_error(entropy, known, 10)
    assert error.shape == (4, 7)
    assert (np.diff(error, axis=1) < 0).all()
    assert least_information(entropy, error, 10) == pytest.approx(known, abs=1e-9)
    assert isinstance(least_error(1.0, 0.5, 3), float)


def test_the_enumeration_itself():
    """A fair bit that the weights copy: 1 bit of label information, no error; and its opposite."""
    fair = np.full((1, 1, 2), 0.5)
    say = np.eye(2)[None, None]
    copies = Problems(Shape(1, 1, 2, 2, 0), fair, fair, np.eye(2)[None, None], say)
    assert (copies.label_information[0], copies.training_error[0], copies.test_error[0]) == (1, 0, 0.5)
    forgets = Problems(Shape(1, 1, 2, 2, 0), fair, fair, np.full((1, 1, 2, 2), 0.5), say)
    assert (forgets.label_information[0], forgets.training_error[0]) == (0, 0.5)
    assert bits(fair)[0] == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_error(1, -0.1, 3), ("information is -0.1", "≥ 0")),
        (lambda: least_error(float("nan"), 0, 3), ("noise_entropy is nan", "finite")),
        (lambda: least_error(1, [0, float("inf")], 3), ("information[1] is inf",)),
        (lambda: least_error(1, 0, 1), ("classes is 1", "≥ 2")),
        (lambda: least_error(1, 0, 2.5), ("classes is 2.5", "whole")),
        (lambda: least_error(3.4, 0, 10), ("3.4 bits", "10 classes", "3.322")),
        (lambda: least_error(3, 0, 10, unit="nats"), ("3 nats", "2.303")),
        (lambda: least_error(1, 0, 3, unit="bit"), ("unit 'bit'", "'bits'")),
        (lambda: least_error("much", 0, 3), ("noise_entropy is 'much'",)),
        (lambda: least_error([1, 1], [0, 0, 0], 3), ("shapes", "[2]", "[3]")),
        (lambda: least_information(1, 1.1, 3), ("error is 1.1", "0 to 1")),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    for word in words:
        assert word in message
