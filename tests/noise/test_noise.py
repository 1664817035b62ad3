"""What holds for every noise: the table is walked, so a new one is tested the day it is written."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.examples import Examples, make_examples
from noiselimit.errors import InputError
from noiselimit.noise import (
    NOISES,
    MatrixNoise,
    NoNoise,
    UniformNoise,
    noise_from_json,
    noise_to_json,
    parse_noise,
)
from noiselimit.noise.base import draw_from_transition

CLASSES = 4
ROWS = [[0.7, 0.1, 0.1, 0.1], [0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0]]
INSTANCES = {"none": NoNoise(), "uniform": UniformNoise(0.3), "matrix": MatrixNoise(ROWS)}
every_noise = pytest.mark.parametrize("noise", INSTANCES.values(), ids=INSTANCES)


def many(count: int) -> Examples:
    """Examples whose labels go round the classes."""
    return make_examples(np.zeros((count, 1)), np.arange(count) % CLASSES)


def test_every_noise_of_the_table_is_tested_here():
    assert {kind: type(noise) for kind, noise in INSTANCES.items()} == NOISES


@every_noise
def test_rows_of_the_transition_are_probabilities(noise):
    transition = noise.transition(CLASSES)
    assert transition.shape == (CLASSES, CLASSES)
    assert transition.dtype == np.float64
    assert transition.min() >= 0
    assert np.allclose(transition.sum(axis=1), 1, rtol=0, atol=1e-12)


@every_noise
def test_labels_follow_the_transition(noise):
    examples = many(80_000)
    noisy = noise.apply(examples, seed=1)
    counts = np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (examples.labels, noisy.labels), 1)
    transition = noise.transition(CLASSES)
    assert np.abs(counts / 20_000 - transition).max() < 0.02  # over five standard deviations
    assert not counts[transition == 0].any()


@every_noise
def test_the_original_is_left_alone_and_kept_as_clean_labels(noise):
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
@given(seed=st.integers(-(2**70), 2**70), count=st.integers(CLASSES, 300))
def test_the_noise_of_an_example_does_not_depend_on_how_many_others_there_are(noise, seed, count):
    few, all_of_them = noise.apply(many(count), seed), noise.apply(many(300), seed)
    assert np.array_equal(few.labels, all_of_them.labels[:count])


@pytest.mark.parametrize("noise", [UniformNoise(0.3), MatrixNoise(ROWS)])
def test_seeds_differ(noise):
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


def test_how_noises_are_written():
    assert noise_to_json(NoNoise()) == "none"
    assert noise_to_json(UniformNoise(0.8)) == "uniform:0.8"
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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("unifrom:0.2", "^unknown noise 'unifrom': did you mean 'uniform'"),
        ("zzz", "^unknown noise 'zzz': choose one of matrix, none, uniform"),
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
