"""Dotted paths: text until somebody loads them, and every way they can lead nowhere said in one sentence."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.networks import NETWORKS, Architecture, check_name, is_dotted
from noiselimit.networks.module import canonical, load
from noiselimit.runs.spec import RunSpec

Write = Callable[[str], str]


@pytest.mark.parametrize("name", ["a.b", "a:b", "a.b.c", "a.b:c", "a.b:C.d", "über.netz:bau"])
def test_dotted_paths(name: str) -> None:
    assert is_dotted(name)
    check_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "a", "a.", ":b", "a:", "a:b:c", "a b.c", "a.b-c", "./a.py:b", "mynets", Path, None, 3, [], {}],
)
def test_what_is_no_dotted_path(name: object) -> None:
    assert not is_dotted(name)
    with pytest.raises(InputError, match=r"unknown network.*written as 'package\.module:factory'[.?]$"):
        check_name(name)


@given(st.text(max_size=20))
def test_any_text_is_judged_without_being_imported(text: str) -> None:
    modules = set(sys.modules)
    is_dotted(text)
    assert not any(name in sys.modules and name not in modules for name in (text, text.partition(":")[0]))


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_no_registered_name_looks_dotted(name: str) -> None:
    assert not is_dotted(name)
    check_name(name)


def test_both_spellings_lead_to_one_thing_in_the_working_folder(theirs: Write) -> None:
    name = theirs("class Box:\n    @staticmethod\n    def make(): return 7\n\ndef make(): return 8\n")
    assert load("network", f"{name}:make")() == load("network", f"{name}.make")() == 8
    assert load("network", f"{name}:Box.make")() == 7


@pytest.mark.parametrize(
    ("name", "one"), [("a.b", "a:b"), ("a:b", "a:b"), ("a.b.c", "a.b:c"), ("a:b.c", "a:b.c"), ("mlp", "mlp")]
)
def test_of_two_spellings_one_is_kept(name: str, one: str) -> None:
    assert canonical(name) == one
    assert Architecture(name).name == one
    bound = {"data": "0", "precision": "float32"}
    spec = RunSpec(network=name, predictor_network=name, predictor_features="a.b", **bound)
    same = RunSpec(network=one, predictor_network=one, predictor_features="a:b", **bound)
    assert (spec, spec.hash) == (same, same.hash)


def test_an_interrupt_is_not_taken_for_a_mistake(theirs: Write) -> None:
    name = theirs("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load("network", f"{name}:make")


def test_the_working_folder_is_searched_last(theirs: Write) -> None:
    name = theirs("def make(): return 8\n")
    load("network", f"{name}:make")
    assert sys.path[-1] != sys.path[0]
    assert load("network", "json:dumps")(1) == "1"


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("", "nowhere_at_all:make", "network 'nowhere_at_all:make': there is no module 'nowhere_at_all', so"),
        ("", "nowhere.at.all", "there is no module 'nowhere', so install it"),
        ("", "{}:make", "has no 'make', so name a function or class"),
        ("make = 3", "{}:make", "is an int, which cannot be called: name a function"),
        ("import nowhere_at_all", "{}:make", "cannot be imported (ModuleNotFoundError: No module named"),
        ("raise RuntimeError('two\\nlines')", "{}:make", "cannot be imported (RuntimeError: two): repair"),
        ("raise SystemExit", "{}:make", "cannot be imported (SystemExit): repair it first."),
        ("", "{}.py:make", ".py', so write the path without '.py'."),
        ("def make(:", "{}:make", "cannot be imported (SyntaxError"),
    ],
)
def test_paths_that_lead_nowhere(theirs: Write, text: str, path: str, message: str) -> None:
    name = theirs(text + "\n")
    with pytest.raises(InputError) as caught:
        load("network", path.format(name))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_written_as_a_path_is_not_tried() -> None:
    with pytest.raises(InputError, match="'os/path' is no dotted path"):
        load("features", "os/path")
