"""Complaints name options as they are typed."""

from noiselimit.cli.errors import parser_sentence, with_typed_option

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
