"""What is said before a call trains anything."""

import pytest

from noiselimit.errors import InputError, Notice
from noiselimit.reproduce.call import make_plan
from noiselimit.reproduce.carrying_out import carry_out
from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.values import FORMS
from noiselimit.reproduce.rows_file import append_rows, rows_path
from noiselimit.reproduce.studies import STUDIES
from noiselimit.reproduce.wanted import Wanted

TRAINED = [*STUDIES, *(name for name, figure in FIGURES.items() if figure.data is not None)]


def begin(name, out, **how):
    wanted = Wanted(name, out, out / "runs", device="cpu", **{"quick": True, **how})
    plan = make_plan(wanted)
    return carry_out(plan, wanted)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("kind", FORMS)
def test_a_damaged_file_of_any_figure_is_told_of_before_anything_is_trained(tmp_path, name, kind):
    """A run may be shown in figures of every kind, whatever it is trained for."""
    path = kept_file(tmp_path, kind)
    path.parent.mkdir()
    path.write_text("my notes\n")
    with pytest.raises(InputError, match=rf"figures/{kind}\.csv is no file of results of this version"):
        begin(name, tmp_path)
    assert path.read_text() == "my notes\n"
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [path]


@pytest.mark.parametrize("name", [name for name in TRAINED if name in FIGURES])
def test_a_damaged_file_of_the_table_that_a_figure_adds_to_is_told_of(tmp_path, name):
    path = rows_path(tmp_path, FIGURES[name].data)
    path.write_text("my notes\n")
    with pytest.raises(InputError, match=r"csv is no file of results of this version"):
        begin(name, tmp_path)


def test_a_damaged_line_is_named(tmp_path, make_row):
    path = kept_file(tmp_path, "curves")
    keep(path, [Kept(make_row(), "1/2"), Kept(make_row(hyper="beta=3"), "1/2")])
    path.write_text(path.read_text().replace("beta=3", "beta=three"))
    with pytest.raises(InputError, match=r"curves\.csv is damaged in line 3 \(hyper is 'beta=three'"):
        begin("mnist", tmp_path)


def test_a_figure_that_needs_no_runs_needs_no_files(tmp_path):
    path = kept_file(tmp_path, "curves")
    path.parent.mkdir()
    path.write_text("my notes\n")
    assert begin("fano", tmp_path).left == 0


OF_QUICK = {"quick": True, "network": "small-cnn", "patience": 2}


@pytest.mark.parametrize("curves", [False, True])
@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["mnist", "cifar10", "learning-curves"])
def test_a_folder_of_the_other_kind_is_refused_whatever_is_to_be_trained(
    tmp_path, make_row, name, quick, curves
):
    row = make_row(**({} if quick else OF_QUICK))
    path = kept_file(tmp_path, "curves") if curves else rows_path(tmp_path, "mnist")
    if curves:
        keep(path, [Kept(row, "1/2")])
    else:
        append_rows(path, [row])
    before = path.read_bytes()
    has, remedy = ("whole runs", "leave --quick out") if quick else ("quick trials", "add --quick")
    with pytest.raises(
        InputError, match=rf"^{tmp_path} has {has} \({path.name}\), .* by --out, or {remedy}\.$"
    ):
        begin(name, tmp_path, quick=quick)
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize("apart", [False, True])
def test_where_both_kinds_are_the_file_is_named_and_only_more_quick_trials_are_refused(
    tmp_path, make_row, apart
):
    append_rows(rows_path(tmp_path, "mnist"), [make_row(**OF_QUICK)])
    place = {"data": "cifar10", "p": 0.4, "n": 40_000} if apart else {}
    append_rows(rows_path(tmp_path, place.get("data", "mnist")), [make_row(**place)])
    beside = r"whole runs in cifar10\.csv" if apart else "whole runs"
    said = rf"mnist\.csv has quick trials, .* beside {beside}: its lines whose column quick is yes may be"
    with pytest.raises(InputError, match=rf"{said} deleted, and new quick trials need a folder of their own"):
        begin("mnist", tmp_path)
    with pytest.warns(Notice, match=rf"{said} deleted\.$"):
        begin("mnist", tmp_path, quick=False, budget_minutes=0)
