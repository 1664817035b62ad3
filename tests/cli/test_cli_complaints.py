"""Complaints name options as they are typed."""

import pytest

from noiselimit.cli.complaints import not_known, parser_sentence, with_typed_option

FLAGS = {"learning_rate": "--learning-rate", "as_json": "--json"}


def test_an_option_at_the_start_is_spelled_as_typed():
    said = with_typed_option("learning_rate is 0: it is too low.", FLAGS)
    assert said == "--learning-rate is 0: it is too low."
    assert with_typed_option("as_json is not wanted.", FLAGS) == "--json is not wanted."


def test_other_sentences_stay():
    for message in ("there is no run folder.", "data.npz: learning_rate is 0.", "learning_rate was 0."):
        assert with_typed_option(message, FLAGS) == message


def test_a_folder_may_be_called_like_an_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = "learning_rate is in use by process 1: wait."
    assert with_typed_option(message, FLAGS) == f"--learning-rate{message.removeprefix('learning_rate')}"
    (tmp_path / "learning_rate").mkdir()
    assert with_typed_option(message, FLAGS) == message


def test_a_complaint_without_context_points_to_help():
    class ParserError(Exception):
        def format_message(self) -> str:
            return "No."

    assert parser_sentence(ParserError()) == "No: see 'noiselimit --help'."


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--epohcs", "--epochs"), ("--Epochs", "--epochs"), ("--batch_size", "--batch-size"), ("-out", "--out")],
)
def test_what_is_spelled_nearly_so_is_suggested(given, meant):
    known = ["--epochs", "--batch-size", "--out"]
    assert str(not_known("option", given, known)) == f"unknown option '{given}': did you mean '{meant}'?"


@pytest.mark.parametrize("given", ["--bogus", "--o", "list", "--"])
def test_nothing_is_suggested_that_is_not(given):
    known = ["--out", "mnist", "--epochs"]
    said = str(not_known("word", given, known, also=["merge"]))
    assert said == f"unknown word '{given}': choose one of --epochs, --out, mnist."


def test_a_further_word_may_be_meant():
    assert "did you mean 'list'?" in str(not_known("table", "lst", ["mnist"], also=["list"]))
