"""Labels that are hardly classes are refused, and classes of one example are told of."""

import numpy as np
import pytest

from noiselimit.audit.diagnostics import check_data
from noiselimit.data.examples import DataSet, make_examples, without_labels
from noiselimit.errors import InputError


def data(labels: list[str]) -> DataSet:
    return DataSet("pets", make_examples(np.zeros((len(labels), 2)), labels))


def test_more_classes_than_a_tenth_of_the_labels_are_asked_about() -> None:
    many = data([f"id{number % 11}" for number in range(109)])
    sentence = "pets: there are 11 classes for 109 labels, which looks like an identifier; give other labels"
    with pytest.raises(InputError, match=sentence):
        check_data(many)
    assert check_data(many, many_classes=True) is many
    enough = data([f"id{number % 11}" for number in range(110)])
    assert check_data(enough) is enough
    gone = np.arange(110) == 3
    with pytest.raises(InputError, match="for 109 labels"):
        check_data(DataSet("pets", without_labels(enough.examples, gone)))


def test_two_classes_are_no_identifier_however_few_the_examples() -> None:
    few = data(["a", "b", "a", "b"])
    assert check_data(few) is few


def test_classes_of_one_example_are_noted_once() -> None:
    noted = check_data(data(["cat"] * 20 + ["catt"] + ["dog"] * 20))
    assert noted.notes == (
        "pets: 1 class has a single example ('catt' in row 20), for whose label no other can speak; look at "
        "it yourself.",
    )
    assert check_data(noted) is noted
    several = data(["cat"] * 40 + list("abcd") + ["dog"] * 40)
    assert (
        "4 classes have a single example ('a' in row 40, 'b' in row 41, 'c' in row 42, …)"
        in (check_data(several).notes[0])
    )
