"""What is said before a call trains anything."""

import pytest

from noiselimit.errors import InputError
from noiselimit.reproduce.call import make_plan
from noiselimit.reproduce.carrying_out import carry_out
from noiselimit.reproduce.figures.kept import Kept, keep, kept_file
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.figures.values import FORMS
from noiselimit.reproduce.rows_file import rows_path
from noiselimit.reproduce.studies import STUDIES
from noiselimit.reproduce.wanted import Wanted

TRAINED = [*STUDIES, *(name for name, figure in FIGURES.items() if figure.data is not None)]


def begin(name, out):
    wanted = Wanted(name, out, out / "runs", device="cpu", quick=True)
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
