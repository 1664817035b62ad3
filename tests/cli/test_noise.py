"""noiselimit noise: the matrix, the rate and the bits of a noise, before anything is trained."""

import json
from pathlib import Path

import numpy as np
import pytest

from noiselimit.cli.noise import print_preview
from noiselimit.data.mnist import digits
from noiselimit.noise import parse_noise, preview, preview_classes

CIFAR10 = "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck"


def table_of(out: str) -> dict[str, list[str]]:
    """Row label → cells, of the lines that a matrix printed."""
    return {line.split()[0]: line.split()[1:] for line in out.splitlines()[2:] if "%" not in line}


def test_what_noise_does_to_digits(command):
    answer = command("noise", "--data", "digits", "--noise", "uniform:0.4", "--seed", "3")
    assert (answer.code, answer.err) == (0, "")
    found = preview(digits().examples, parse_noise("uniform:0.4"), seed=3)
    rows = table_of(answer.out)
    for row in range(10):
        shares = [*found.rates[row], found.wrong_by_class[row]]
        shown = [f"{100 * share:.1f}" if share else "·" for share in shares]
        assert rows[str(row)] == [str(found.counts[row].sum()), *shown]
    assert f"{100 * found.wrong:.1f} % of 1,797 examples, expected 40.0 %" in answer.out
    assert f"{found.bits:.3f} bits" in answer.out


def test_json_has_everything(command, table):
    np.savez("known.npz", **np.load(table), clean_labels=np.load(table)["labels"])
    answer = command("noise", "--data", "known.npz", "--noise", "none,instance:0.3", "--json")
    nothing, instance = json.loads(answer.out)
    assert (nothing["noise"], instance["noise"]) == ("none", "instance:0.3")
    assert nothing["wrong"] == nothing["expected_wrong"] == nothing["bits"] == 0
    assert nothing["counts"] == [[20, 0, 0], [0, 20, 0], [0, 0, 20]]
    assert np.sum(instance["expected_rates"], axis=1) == pytest.approx([1, 1, 1])
    assert not instance["bits_are_estimated"]


def test_where_clean_labels_are_not_known_none_is_called_wrong(command, table):
    out = command("noise", "--data", table, "--noise", "none").out
    assert "--clean-label" in out
    assert "0.0" not in out
    (found,) = json.loads(command("noise", "--data", table, "--noise", "none", "--json").out)
    assert found["wrong"] is found["expected_wrong"] is found["bits"] is None
    assert found["wrong_by_class"] == [None] * 3


def test_classes_by_name(command):
    out = command("noise", "--classes", CIFAR10, "--noise", "pair:0.4").out
    rows = table_of(out)
    assert rows["cat"] == ["·", "·", "·", "60.0", "·", "40.0", "·", "·", "·", "·", "40.0"]
    assert rows["dog"][-1] == "0.0"
    assert "wrong labels  16.0 %, if classes are equally frequent" in out


def test_given_labels_are_said_to_give_an_estimate(command, table):
    labels = (np.load(table)["labels"] + (np.arange(60) % 2)) % 3
    Path("labels.txt").write_text("\n".join(map(str, labels)))
    answer = command("noise", "--data", table, "--noise", "given:labels.txt")
    assert "wrong labels  50.0 % of 60 examples\n" in answer.out
    assert "estimated from the matrix" in answer.out


@pytest.mark.parametrize(("width", "head"), [(200, "automobile"), (80, "0"), (40, None)])
def test_the_table_fits_the_terminal(monkeypatch, capsys, width, head):
    from rich.console import Console

    from noiselimit.cli import noise as noise_table
    from noiselimit.cli import tables as console

    monkeypatch.setattr(
        noise_table, "fits", lambda table: Console(width=1000).measure(table).maximum <= width
    )
    monkeypatch.setattr(console, "UNLIMITED", 1000)
    print_preview("title", preview_classes(CIFAR10.split(","), parse_noise("uniform:0.4")))
    heads = capsys.readouterr().out.splitlines()[2].split()
    assert head in heads if head else "→" in heads
