"""Notices are heard in every training anew, each text once, and other warnings pass."""

import warnings

import pytest

from noiselimit.bench.notices import heard_notices, told_notices
from noiselimit.errors import Notice


def give_way(text="kernels failed."):
    warnings.warn(text, Notice, stacklevel=2)


def fail_after_a_notice(notices):
    with heard_notices(pass_on=False) as heard:
        give_way()
        notices.append(heard)
        raise RuntimeError


def test_the_same_is_heard_in_every_training_and_once_in_each():
    def training():
        with heard_notices() as notices:
            for text in ("kernels failed.", "kernels failed.", "recording failed."):
                give_way(text)
        return notices

    with warnings.catch_warnings(record=True) as shown:
        assert [training(), training()] == [["kernels failed.", "recording failed."]] * 2
    assert len(shown) == 6


def test_what_is_held_back_goes_no_further_and_other_warnings_do():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with heard_notices(pass_on=False) as outer:
            with heard_notices() as inner:
                give_way()
            warnings.warn("something else", UserWarning, stacklevel=1)
    assert inner == outer == ["kernels failed."]
    assert [str(each.message) for each in shown] == ["something else"]


def test_afterwards_everything_is_as_before():
    before, notices = (warnings.showwarning, list(warnings.filters)), []
    with pytest.raises(RuntimeError):
        fail_after_a_notice(notices)
    assert (warnings.showwarning, list(warnings.filters)) == before
    assert notices == [["kernels failed."]]


def test_files_of_old_have_none(content):
    assert told_notices(content({"row": "mnist-one"}, points=({"sweep": "k", "k": None},))) == []
