"""What holds for every noise: the table is walked, so a new one is tested the day it is written."""

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


def test_every_noise_of_the_table_is_tested_here():
    assert {kind: type(noise) for kind, noise in INSTANCES.items()} == NOISES


@every_class_noise
def test_rows_of_the_transition_are_probabilities(noise):
    transition = noise.transition(NAMES)
    assert transition.shape == (CLASSES, CLASSES)
    assert transition.dtype == np.float64
    assert transition.min() >= 0
    assert np.allclose(transition.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["instance", "given"])
def test_noise_that_sees_more_than_labels_has_no_transition(kind):
    with pytest.raises(
        InputError, match=rf"^noise '{kind}' has no transition matrix, because .*; choose another"
    ):
        INSTANCES[kind].transition(NAMES)


@every_noise
def test_posteriors_are_probabilities_of_the_labels_that_are_drawn(noise, many):
    examples = many(80_000)
    posteriors = noise.posteriors(examples, seed=1)
    if noise == INSTANCES["given"]:
        assert posteriors is None
        return
    drawn = noise.draw(examples, seed=1)
    assert posteriors.shape == (80_000, CLASSES)
    assert posteriors.min() >= 0
    assert np.allclose(posteriors.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert posteriors[np.arange(80_000), drawn].min() > 0
    # Each column counts a sum of independent draws: within five of its standard deviations.
    deviation = np.sqrt((posteriors * (1 - posteriors)).sum(axis=0))
    difference = np.bincount(drawn, minlength=CLASSES) - posteriors.sum(axis=0)
    assert (np.abs(difference) <= 5 * deviation + 1e-6).all()


@every_class_noise
def test_labels_follow_the_transition(noise, many):
    examples = many(80_000)
    noisy = noise.apply(examples, seed=1)
    counts = np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (examples.labels, noisy.labels), 1)
    transition = noise.transition(NAMES)
    assert np.abs(counts / 20_000 - transition).max() < 0.02  # over five standard deviations
    assert not counts[transition == 0].any()


@every_noise
def test_the_original_is_left_alone_and_kept_as_clean_labels(noise, many):
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


@every_noise
def test_same_seed_same_labels(noise, many):
    assert np.array_equal(noise.draw(many(300), 7), noise.draw(many(300), 7))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("uniform:0.6", [1, 1, 2, 3, 3, 2, 3, 3, 0, 3, 0, 1]),
        ("symmetric:0.6", [0, 1, 2, 3, 3, 1, 3, 3, 0, 3, 0, 1]),
        ("instance:0.6", [0, 1, 2, 2, 1, 0, 2, 3, 1, 0, 3, 2]),
    ],
)
def test_labels_of_a_seed_stay_what_they_were(text, labels):
    """Results on disk were trained on them: whoever changes them must raise the spec's SCHEMA."""
    examples = make_examples(np.arange(24.0).reshape(12, 2) % 7, np.arange(12) % 4)
    assert parse_noise(text).draw(examples, 0).tolist() == labels


@every_class_noise
@given(seed=st.integers(-(2**70), 2**70), count=st.integers(CLASSES, 300))
def test_the_noise_of_an_example_does_not_depend_on_how_many_others_there_are(noise, many, seed, count):
    few, all_of_them = noise.apply(many(count), seed), noise.apply(many(300), seed)
    assert np.array_equal(few.labels, all_of_them.labels[:count])


@pytest.mark.parametrize("kind", sorted(INSTANCES.keys() - {"none", "given"}))
def test_seeds_differ(kind, many):
    noise = INSTANCES[kind]
    assert not np.array_equal(noise.apply(many(100), 0).labels, noise.apply(many(100), 1).labels)


@every_noise
def test_json_round_trip(noise):
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


@given(st.floats(0, 1))
def test_json_keeps_every_probability_exactly(probability):
    noise = UniformNoise(probability)
    again = noise_from_json(json.loads(json.dumps(noise_to_json(noise))))
    assert again == noise
    assert parse_noise(str(noise_to_json(noise))) == noise


@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_json_keeps_every_matrix_exactly(stay):
    noise = MatrixNoise([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


@pytest.mark.parametrize("kind", ["uniform", "symmetric", "instance", "pair"])
@given(probability=st.floats(0, 1))
def test_what_one_number_describes_is_written_as_it_is_typed(kind, probability):
    noise = NOISES[kind].from_parameter(probability)
    assert parse_noise(noise_to_json(noise)) == noise
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


@pytest.mark.parametrize("kind", ["uniform", "symmetric", "instance", "pair"])
@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "inf", "40"])
def test_probabilities_out_of_range(kind, text):
    with pytest.raises(
        InputError, match=rf"^{kind} noise of .* is not possible; give a probability from 0 to 1"
    ):
        parse_noise(f"{kind}:{text}")


@pytest.mark.parametrize("kind", ["uniform", "symmetric", "instance"])
@pytest.mark.parametrize("text", ["", ":", ":40%", ":a:b"])
def test_no_number(kind, text):
    with pytest.raises(
        InputError, match=rf"^noise '{kind}:.*' has no number after the colon; write {kind}:0\.4"
    ):
        parse_noise(kind + text)


@given(st.text(max_size=40))
def test_any_text_is_a_noise_or_bad_input(text):
    for value in (text, *(f"{kind}:{text}" for kind in NOISES if kind not in ("matrix", "given"))):
        try:
            noise = parse_noise(value)
        except InputError:  # anything else would be a mistake of ours
            continue
        assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


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
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


def test_noise_in_python():
    assert as_noise("pair:0.4") == PairNoise.from_parameter(0.4)
    assert as_noise([[0.5, 0.5], [0, 1]]) == MatrixNoise([[0.5, 0.5], [0, 1]])
    with pytest.raises(InputError, match=r"^noise is 3: give text"):
        as_noise(3)


def test_how_noises_are_written():
    assert noise_to_json(NoNoise()) == "none"
    assert noise_to_json(UniformNoise(0.8)) == "uniform:0.8"
    assert noise_to_json(SymmetricNoise(0.8)) == "symmetric:0.8"
    assert noise_to_json(InstanceNoise(0.8)) == "instance:0.8"
    assert noise_to_json(parse_noise("pair:0.4")) == "pair:0.4"
    assert noise_to_json(parse_noise("pair:cat>dog:0.4")) == {"pair": {"cat>dog": 0.4}}
    assert noise_to_json(parse_noise("given:worst")) == {"given": "worst"}
    assert noise_to_json(MatrixNoise(np.eye(2))) == {"matrix": [[1.0, 0.0], [0.0, 1.0]]}


def test_equal_noises_have_one_spelling():
    assert noise_to_json(UniformNoise(1)) == noise_to_json(parse_noise("uniform:1.00")) == "uniform:1.0"
    assert noise_to_json(parse_noise("uniform:-0")) == "uniform:0.0"
    assert (
        json.dumps(noise_to_json(MatrixNoise([[1, -0.0], [0, 1]]))) == '{"matrix": [[1.0, 0.0], [0.0, 1.0]]}'
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("unifrom:0.2", "^unknown noise 'unifrom': did you mean 'uniform'"),
        ("uniform:x", "^noise value 'x' is not a number; correct it"),
        ("uniform", "^uniform noise of None is not possible; give a probability"),
        ("none:3", "^noise 'none' takes no value but got '3.0'"),
        ("given:worst", "^noise value 'worst' is not a number"),
        ({"given": 3}, "^given noise of 3 is not possible; name a label set"),
        ({"given": {"file": "a.csv", "digest": 3}}, "^given noise has the digest 3; correct it"),
        ({"pair": {}}, "^pair noise has no pairs; give some"),
        ({"pair": {"cat>dog": "much"}}, "^pair noise 'cat>dog' has the probability much; give a number"),
        ({"uniform": "a"}, "^uniform noise of a is not possible"),
        ({"matrix": [[1, 2]]}, r"^the transition matrix: the shape is \[1, 2\]; give one row"),
        ({"matrix": None}, r"^the transition matrix: "),
        ({"matrix": [[1]], "uniform": 1}, "is not understood; write none"),
        (None, "^noise None is not understood; write none"),
        (0.4, "^noise 0.4 is not understood; write none"),
    ],
)
def test_json_that_is_no_noise(value, sentence):
    with pytest.raises(InputError, match=sentence):
        noise_from_json(value)


def test_json_opens_no_file(tmp_path):
    (tmp_path / "noise.json").write_text("[[1, 0], [0, 1]]")
    assert parse_noise(f"matrix:{tmp_path / 'noise.json'}") == MatrixNoise(np.eye(2))
    with pytest.raises(InputError, match="is not a number"):
        noise_from_json(f"matrix:{tmp_path / 'noise.json'}")
    (tmp_path / "labels.csv").write_text("0\n1\n")
    unread = noise_from_json({"given": str(tmp_path / "labels.csv")})
    assert unread == GivenNoise(str(tmp_path / "labels.csv"))  # taken for the name of a label set


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("unifrom:0.2", "^unknown noise 'unifrom': did you mean 'uniform'"),
        (
            "zzz",
            "^unknown noise 'zzz': choose one of given, instance, matrix, none, pair, symmetric, uniform",
        ),
        ("", "^unknown noise '': choose one of"),
        ("none:0.2", "^noise 'none' takes no value but got '0.2'; write none or"),
    ],
)
def test_text_that_is_no_noise(text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_noise(text)


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
    drawn = draw_from_transition(
        labels, 0.9 * transition, seed
    )  # what rounding does to the sums, exaggerated
    assert (transition[labels, drawn] > 0).all()


def test_an_impossible_label_is_not_drawn_at_the_very_edge(monkeypatch):
    monkeypatch.setattr("noiselimit.noise.base.uniforms", lambda *_: np.array([0.0, 0.5]))
    drawn = draw_from_transition(
        np.array([0, 1]), np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]), 0
    )
    assert drawn.tolist() == [1, 2]
