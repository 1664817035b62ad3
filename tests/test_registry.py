import pytest

from noiselimit.errors import InputError
from noiselimit.methods import METHODS, Method
from noiselimit.registry import discover, find


def test_every_module_adds_what_it_defines() -> None:
    found = discover("noiselimit.methods", "METHODS", Method)
    assert dict(found) == dict(METHODS)
    assert {"ce", "limit-g", "limit-l", "limit-g+s", "limit-l+s"} <= found.keys()
    with pytest.raises(AssertionError, match="wrong type"):
        discover("noiselimit.methods", "METHODS", str)  # type: ignore[type-var]


def test_an_unknown_name_suggests_the_closest() -> None:
    assert find("method", "ce", METHODS).name == "ce"
    with pytest.raises(InputError, match="'limit-l'"):
        find("method", "limitl", METHODS)
