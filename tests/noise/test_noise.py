"""What every noise must keep; the table is walked, so that a new kind is tested the day it is written."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import make_examples
from noiselimit.errors import InputError
from noiselimit.noise import (
    NOISES,
    GivenNoise,
    InstanceNoise,
    MatrixNoise,
    NoNoise,
    PairNoise,
    SymmetricNoise,
    UniformNoise,
    as_noise,
    noise_from_json,
    noise_to_json,
    parse_noise,
)
from noiselimit.noise.base import ClassNoise, draw_from_transition

NAMES = ("cat", "dog", "deer", "horse")
CLASSES = len(NAMES)
ROWS = [[0.7, 0.1, 0.1, 0.1], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0]]
INSTANCES = {
    "none": NoNoise(),
    "uniform": UniformNoise(0.3),
    "symmetric": SymmetricNoise(0.3),
    "pair": PairNoise({"cat>dog": 0.4, "deer>horse": 0.25, "deer>cat": 0.75}),
    "matrix": MatrixNoise(ROWS),
    "instance": InstanceNoise(0.3),
    "given": GivenNoise("worst"),
}
every_noise = pytest.mark.parametrize("noise", INSTANCES.values(), ids=INSTANCES)
CLASS_NOISES = {kind: noise for kind, noise in INSTANCES.items() if isinstance(noise, ClassNoise)}
every_class_noise = pytest.mark.parametrize("noise", CLASS_NOISES.values(), ids=CLASS_NOISES)
PROBABILITIES = ["uniform", "symmetric", "instance", "pair"]


def round_trip(noise):
    return noise_from_json(json.loads(json.dumps(noise_to_json(noise))))


def test_every_noise_of_the_table_is_tested_here():
    of_classes = {kind: each for kind, each in NOISES.items() if each.task == "classification"}
    assert {kind: type(noise) for kind, noise in INSTANCES.items()} == of_classes


@every_class_noise
def test_labels_follow_the_transition(noise, many):
    transition = noise.transition(NAMES)
    assert transition.shape == (CLASSES, CLASSES)
    assert transition.min() >= 0
    assert np.allclose(transition.sum(axis=1), 1, rtol=0, atol=1e-12)
    examples = many(80_000)
    counts = np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (examples.labels, noise.apply(examples, seed=1).labels), 1)
    assert np.abs(counts / 20_000 - transition).max() < 0.02  # over five standard deviations
    assert not counts[transition == 0].any()


@pytest.mark.parametrize("kind", ["instance", "given"])
def test_noise_that_depends_on_more_than_the_label_has_no_transition(kind):
    with pytest.raises(InputError, match=kind):
        INSTANCES[kind].transition(NAMES)


@every_noise
def test_posteriors_are_the_probabilities_of_the_drawn_labels(noise, many):
    examples = many(80_000)
    posteriors = noise.posteriors(examples, seed=1)
    if noise == INSTANCES["given"]:
        assert posteriors is None
        return
    drawn = noise.draw(examples, seed=1)
    assert posteriors.min() >= 0
    assert np.allclose(posteriors.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert posteriors[np.arange(80_000), drawn].min() > 0
    # Each column counts a sum of independent draws: within five standard deviations.
    deviation = np.sqrt((posteriors * (1 - posteriors)).sum(axis=0))
    difference = np.bincount(drawn, minlength=CLASSES) - posteriors.sum(axis=0)
    assert (np.abs(difference) <= 5 * deviation + 1e-6).all()


@every_noise
def test_the_original_stays_and_its_labels_become_the_clean_ones(noise, many):
    examples = many(100)
    before = examples.labels.copy()
    once = noise.apply(examples, seed=0)
    twice = noise.apply(once, seed=1)
    once.labels[:] = 0
    assert np.array_equal(examples.labels, before)
    assert examples.clean_labels is None
    assert once.inputs is examples.inputs
    if noise == NoNoise():
        assert once.clean_labels is None  # nobody has said that the given labels are clean
        return
    assert np.array_equal(once.clean_labels, before)
    assert np.array_equal(twice.clean_labels, before)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("uniform:0.6", [1, 1, 2, 3, 3, 2, 3, 3, 0, 3, 0, 1]),
        ("symmetric:0.6", [0, 1, 2, 3, 3, 1, 3, 3, 0, 3, 0, 1]),
        ("instance:0.6", [0, 1, 2, 2, 1, 0, 2, 3, 1, 0, 3, 2]),
    ],
)
def test_labels_are_those_of_the_first_version(text, labels):
    """If you change them, raise the spec's SCHEMA: results on disk were trained on them."""
    examples = make_examples(np.arange(24.0).reshape(12, 2) % 7, np.arange(12) % 4)
    assert parse_noise(text).draw(examples, 0).tolist() == labels


@every_class_noise
@given(seed=st.integers(-(2**70), 2**70), count=st.integers(CLASSES, 300))
def test_noise_does_not_depend_on_how_many_examples_there_are(noise, many, seed, count):
    few, all_of_them = noise.apply(many(count), seed), noise.apply(many(300), seed)
    assert np.array_equal(few.labels, all_of_them.labels[:count])


@pytest.mark.parametrize("kind", sorted(INSTANCES.keys() - {"none", "given"}))
def test_seeds_differ(kind, many):
    noise = INSTANCES[kind]
    assert np.array_equal(noise.draw(many(100), 0), noise.draw(many(100), 0))
    assert not np.array_equal(noise.draw(many(100), 0), noise.draw(many(100), 1))


@every_noise
def test_json_round_trip(noise):
    assert round_trip(noise) == noise


@given(st.text(max_size=40))
def test_any_text_is_a_noise_or_bad_input(text):
    for value in (text, *(f"{kind}:{text}" for kind in NOISES if kind not in ("matrix", "given"))):
        try:
            noise = parse_noise(value)
        except InputError:
            continue
        assert round_trip(noise) == noise


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", NOISES)
@given(value=JSON)
def test_any_json_is_a_noise_or_bad_input(kind, value):
    try:
        noise = noise_from_json({kind: value})
    except InputError:
        return
    assert round_trip(noise) == noise


def test_noise_in_python():
    assert as_noise("pair:0.4") == PairNoise.from_parameter(0.4)
    assert as_noise([[0.5, 0.5], [0, 1]]) == MatrixNoise([[0.5, 0.5], [0, 1]])
    with pytest.raises(InputError, match="3"):
        as_noise(3)


@pytest.mark.parametrize(
    ("noise", "written"),
    [
        ("none", "none"),
        ("uniform:0.8", "uniform:0.8"),
        ("uniform:1.00", "uniform:1.0"),
        ("uniform:-0", "uniform:0.0"),
        ("symmetric:0.8", "symmetric:0.8"),
        ("instance:0.8", "instance:0.8"),
        ("pair:0.4", "pair:0.4"),
        ("pair: cat > dog :0.4", {"pair": {"cat>dog": 0.4}}),
        ("given:worst", {"given": "worst"}),
        ([[1, -0.0], [0, 1]], {"matrix": [[1.0, 0.0], [0.0, 1.0]]}),
    ],
)
def test_how_noises_are_written(noise, written):
    """A run's hash covers this, so equal noises must be written alike, and as in the first version."""
    assert json.dumps(noise_to_json(as_noise(noise))) == json.dumps(written)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("uniform:x", "number"),
        ("none:3", "none"),
        ({"given": {"file": "a.csv", "digest": 3}}, "a.csv"),
        ({"pair": {"cat>dog": "much"}}, "much"),
        ({"uniform": "a"}, "probability"),
        ({"matrix": [[1, 2]]}, "[1, 2]"),
        ({"matrix": [[1]], "uniform": 1}, "not valid"),
        (0.4, "0.4"),
    ],
)
def test_json_that_is_no_noise(value, word):
    with pytest.raises(InputError) as caught:
        noise_from_json(value)
    assert word in str(caught.value)


def test_reading_json_opens_no_file(tmp_path):
    (tmp_path / "labels.csv").write_text("0\n1\n")
    name = str(tmp_path / "labels.csv")
    assert noise_from_json({"given": name}) == GivenNoise(name)  # the name of a label set


@pytest.mark.parametrize("kind", PROBABILITIES)
@pytest.mark.parametrize("text", [":1.5", ":-0.1", ":nan", "", ":40%"])
def test_text_that_is_no_probability(kind, text):
    with pytest.raises(InputError, match=kind):
        parse_noise(kind + text)


@given(
    st.lists(
        st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda row: sum(row) > 0.1),
        min_size=3,
        max_size=3,
    ),
    st.integers(0, 2**32),
)
def test_an_impossible_label_is_never_drawn(weights, seed):
    transition = np.array(weights) / np.sum(weights, axis=1, keepdims=True)
    labels = np.arange(60) % 3
    drawn = draw_from_transition(labels, 0.9 * transition, seed)  # exaggerates what rounding does to sums
    assert (transition[labels, drawn] > 0).all()


@given(st.floats(0, 1), st.integers(2, 12))
def test_uniform_and_symmetric_transitions(probability, classes):
    names = [str(number) for number in range(classes)]
    uniform = UniformNoise(probability).transition(names)
    assert np.array_equal(np.diag(uniform), np.full(classes, 1 - probability))
    assert np.allclose(uniform[~np.eye(classes, dtype=bool)], probability / (classes - 1), rtol=1e-12, atol=0)
    symmetric = SymmetricNoise(probability).transition(names)
    same = UniformNoise(min(1.0, probability * (classes - 1) / classes)).transition(names)
    assert np.allclose(symmetric, same, rtol=0, atol=1e-15)
