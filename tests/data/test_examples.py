"""Examples are checked once, and known by their content."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from noiselimit.data.examples import DataSet, make_examples
from noiselimit.errors import InputError

INPUTS = np.arange(12, dtype=np.float32).reshape(6, 2)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_what_examples_know():
    examples = make_examples(INPUTS, LABELS, clean_labels=[0, 1, 2, 0, 2, 1])
    assert len(examples) == 6
    assert examples.classes == 3
    assert examples.class_names == ("0", "1", "2")
    assert examples.input_shape == (2,)
    assert examples.wrong is not None
    assert examples.wrong.tolist() == [False, False, False, False, True, True]
    assert make_examples(INPUTS, LABELS).wrong is None


def test_examples_are_frozen():
    with pytest.raises(FrozenInstanceError):
        make_examples(INPUTS, LABELS).labels = LABELS  # type: ignore[misc]


def test_string_labels_with_names_take_the_order_of_the_names():
    examples = make_examples(INPUTS, list("abcabc"), class_names=["c", "b", "a"], clean_labels=list("cccccc"))
    assert examples.labels.tolist() == [2, 1, 0, 2, 1, 0]
    assert examples.clean_labels is not None
    assert examples.clean_labels.tolist() == [0] * 6


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        (LABELS[:5], {}, "there are 6 inputs but 5 labels; give one label per input"),
        (LABELS, {"clean_labels": LABELS[:2]}, "there are 6 inputs but 2 clean labels; give"),
        (LABELS, {"clean_labels": LABELS - 1}, "clean label in row 0 is -1; clean labels must be"),
        (LABELS, {"clean_labels": LABELS + 1}, "clean label in row 2 is 3, which is none of the 3"),
        (LABELS * 2, {}, "class 1 has no example; add one or renumber"),
        (LABELS * 0, {}, "there is only one class; a classifier needs examples of at least two"),
        (LABELS, {"class_names": ["a", "b"]}, "label in row 2 is 2, which is none of the 2 classes; correct"),
        (
            LABELS,
            {"class_names": "abcd"},
            r"class 3 \('d'\) has no example; add one or leave it out of the 4",
        ),
        (LABELS, {"class_names": ["a", "b", "a"]}, "class_names has 'a' twice; give each"),
        (LABELS, {"class_names": ["a", "b", 3]}, "class_names must be strings"),
        (LABELS, {"class_names": ["a", "b", ""]}, "class_names must be strings"),
    ],
)
def test_what_cannot_be_examples(labels, options, sentence):
    with pytest.raises(InputError, match=f"^file: {sentence}"):
        make_examples(INPUTS, labels, source="file", **options)


def test_fingerprints_tell_contents_apart_and_nothing_else():
    examples = make_examples(INPUTS, LABELS)
    assert examples.fingerprint == make_examples(INPUTS.astype(np.float64), LABELS.tolist()).fingerprint
    others = [
        make_examples(INPUTS + 1, LABELS),
        make_examples(INPUTS, LABELS[::-1]),
        make_examples(INPUTS, LABELS, class_names="abc"),
        make_examples(INPUTS, LABELS, clean_labels=LABELS),
        make_examples(INPUTS, LABELS, clean_labels=LABELS[::-1]),
        replace(examples, inputs=INPUTS.reshape(6, 2, 1, 1)),
        replace(examples, inputs=INPUTS.view(np.int32)),
    ]
    assert len({other.fingerprint for other in [examples, *others]}) == 8


def test_a_fingerprint_of_a_data_set_covers_both_parts_but_not_the_name():
    examples = make_examples(INPUTS, LABELS)
    other = make_examples(INPUTS + 1, LABELS)
    assert DataSet("a", examples).fingerprint == DataSet("b", examples).fingerprint
    data_sets = [DataSet("a", examples), DataSet("a", examples, other), DataSet("a", other, examples)]
    assert len({data_set.fingerprint for data_set in data_sets}) == 3


def test_a_test_part_may_lack_a_class():
    train = make_examples(INPUTS, LABELS)
    test = make_examples(INPUTS[:2], [0, 1], class_names=train.class_names, may_lack_classes=True)
    assert DataSet("a", train, test).test is test


@pytest.mark.parametrize(
    ("inputs", "names", "sentence"),
    [
        (INPUTS[:, :1], "abc", r"the test part has input shape \[1\] but the training part \[2\]; prepare"),
        (INPUTS, "abd", r"the test part has class names \['a', 'b', 'd'\] but the training part"),
    ],
)
def test_both_parts_must_be_alike(inputs, names, sentence):
    train = make_examples(INPUTS, LABELS, class_names="abc")
    with pytest.raises(InputError, match=f"^toys: {sentence}"):
        DataSet("toys", train, make_examples(inputs, LABELS, class_names=names))


def test_pictures_scaled_otherwise_are_not_alike():
    pictures = np.full((6, 4, 4), 200, np.uint8)
    train, test = (make_examples(part, LABELS) for part in (pictures, pictures / 255))
    with pytest.raises(InputError, match="the test part has values up to 1 but the training part up to 255"):
        DataSet("toys", train, test)
    larger = make_examples(pictures.astype(np.int32) + 99, LABELS)
    assert DataSet("toys", larger, train).test is train  # float32 and uint8, on one scale


def test_class_names_that_no_file_could_hold():
    with pytest.raises(InputError, match=r"class name 'a\\udc80' is not valid text; rename the class"):
        make_examples(np.zeros((2, 1)), [0, 1], class_names=["a\udc80", "b"])
