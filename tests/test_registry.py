import pytest

from noiselimit.errors import InputError
from noiselimit.methods import METHODS, Method
from noiselimit.registry import discover, find


def test_everything_that_announces_itself_is_found_once() -> None:
    found = discover("noiselimit.methods", "METHODS", Method)
    assert dict(found) == dict(METHODS)
    assert {"ce", "limit-g", "limit-l", "limit-g+s", "limit-l+s"} <= found.keys()


def test_an_unknown_name_suggests_the_nearest() -> None:
    assert find("method", "ce", METHODS).name == "ce"
    with pytest.raises(InputError, match="unknown method 'limitl': did you mean 'limit-l'"):
        find("method", "limitl", METHODS)


def test_a_foreign_thing_is_noticed() -> None:
    with pytest.raises(AssertionError, match="a foreign one"):
        discover("noiselimit.methods", "METHODS", str)  # type: ignore[type-var]
