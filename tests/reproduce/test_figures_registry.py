"""What every figure must do, and what tells them apart."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from noiselimit.report.axes import BOTTOM, HEIGHT, TOP
from noiselimit.reproduce.figures.beta_sweep import BETA_SWEEP
from noiselimit.reproduce.figures.figure import Figure
from noiselimit.reproduce.figures.histograms import BINS
from noiselimit.reproduce.figures.kept import Kept, current_kept
from noiselimit.reproduce.figures.learning_curves import CIFAR_CURVES, LEARNING_CURVES
from noiselimit.reproduce.figures.memorisation import MEMORISATION, SEARCHED, chosen, training_of
from noiselimit.reproduce.figures.registry import FIGURES
from noiselimit.reproduce.protocol import Protocol
from noiselimit.reproduce.rows import ResultRow
from noiselimit.reproduce.work import Task

MakeRow = Callable[..., ResultRow]
TRAINED = [figure for figure in FIGURES.values() if figure.data is not None]
VALUES = {
    "curves": "1000 2000/3000 9000/1000 2000",
    "histograms": "/".join([" ".join(["3"] * BINS)] * 4),
    "suspects": "1:0:3:1.2 5:1:1:0.3",
}


def protocol_of(figure: Figure, *, quick: bool) -> Protocol:
    protocol = figure.protocol(quick=quick)
    assert protocol is not None
    return protocol


def row_of(task: Task, protocol: Protocol, make: MakeRow) -> ResultRow:
    cell = task.cell
    return make(
        data=cell.data,
        noise="none" if cell.p == 0 else cell.noise,
        p=cell.p,
        n=cell.n,
        method=cell.method,
        hyper=task.hyper,
        epochs=task.spec.epochs,
        patience=task.spec.patience,
        network=task.spec.network,
        quick=protocol.quick,
    )


@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
@pytest.mark.parametrize("figure", TRAINED, ids=lambda figure: figure.name)
def test_a_figure_wants_its_own_runs_and_is_drawn_from_them(
    figure: Figure, quick: bool, make_row: MakeRow
) -> None:
    protocol = protocol_of(figure, quick=quick)
    tasks = figure.tasks(protocol)
    assert tasks
    assert figure.missing([], protocol) == tasks
    assert all(task.spec.network == protocol.network for task in tasks)
    kept = [Kept(row_of(task, protocol, make_row), VALUES[figure.kind or ""]) for task in tasks]
    assert len({one.row.key for one in kept}) == len(tasks)
    assert figure.shown(kept, quick=quick) == kept
    assert figure.shown(kept, quick=not quick) == []
    assert figure.missing(kept, protocol) == []
    assert figure.missing(kept[1:], protocol) == tasks[:1]
    assert figure.caption(kept)
    drawn = figure.draw(kept)
    assert (drawn is None) == (figure.kind == "suspects")
    if drawn is not None:
        ElementTree.fromstring(drawn)
    assert figure.draw([]) is None


def test_other_splits_noises_and_networks_are_not_shown(make_row: MakeRow) -> None:
    own = make_row()
    wanting = {name for name, figure in FIGURES.items() if figure.wants(own)}
    assert wanting == {"learning-curves", "beta-sweep", "histograms-mnist"}
    for changed in ({"seed": 1}, {"p": 0.5}, {"n": 1000}, {"method": "limit-l+s"}, {"patience": 50}):
        assert not any(figure.wants(make_row(**changed)) for figure in FIGURES.values()), changed
    other = make_row(network="mlp-4x512", patience=200)
    assert [name for name, figure in FIGURES.items() if figure.wants(other)] == ["memorisation"]
    clean = make_row(noise="none", p=0.0)
    assert [name for name, figure in FIGURES.items() if figure.wants(clean)] == ["suspicious-mnist"]


def test_the_sweep_is_part_of_what_the_learning_curves_train() -> None:
    sweep, curves = (
        {task.spec.key for task in figure.tasks(protocol_of(figure, quick=False))}
        for figure in (BETA_SWEEP, LEARNING_CURVES)
    )
    assert sweep < curves
    assert len(sweep) == 16


@pytest.mark.parametrize(("figure", "lines"), [(CIFAR_CURVES[0], 8), (MEMORISATION, 4), (BETA_SWEEP, 16)])
def test_no_two_lines_of_a_chart_look_alike(figure: Figure, lines: int, make_row: MakeRow) -> None:
    protocol = protocol_of(figure, quick=False)
    kept = [Kept(row_of(task, protocol, make_row), VALUES["curves"]) for task in figure.tasks(protocol)]
    drawn = figure.draw(kept)
    assert drawn is not None
    line = r'<g class="(line \w+)"( opacity="[\d.]+")?>.*?<polyline [^>]*?( stroke-dasharray="[^"]+")?/>'
    looks = re.findall(line, drawn)
    of_chart = lines // (2 if figure is BETA_SWEEP else 1)
    charts = [looks[start : start + of_chart] for start in range(0, len(looks), of_chart)]
    assert len(looks) == 2 * lines
    assert all(len(chart) == len(set(chart)) for chart in charts)


def test_the_sweep_tells_high_test_accuracies_apart_and_hides_none(make_row: MakeRow) -> None:
    ends = {"beta=0.3": 0.97, "beta=3": 0.98, "beta=10": 1.0, "beta=100": 0.02}
    kept = [
        Kept(make_row(hyper=hyper), f"1000 1000/{round(1e4 * end)} {round(1e4 * end)}/1000 1000")
        for hyper, end in ends.items()
    ]
    drawn = BETA_SWEEP.draw(kept)
    assert drawn is not None
    test = list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}svg"))[-1]
    lines = test.iter("{http://www.w3.org/2000/svg}polyline")
    pixels = [float((line.get("points") or "").split(",")[-1]) for line in lines][: len(ends)]
    assert all(TOP <= pixel <= HEIGHT - BOTTOM for pixel in pixels)
    rising = pixels[3], *pixels[:3]
    assert all(low - high > 5 for low, high in pairwise(rising))
    assert "halves the error" in BETA_SWEEP.caption(kept)


def test_the_sweep_has_an_axis_of_training_accuracies_for_each_method(make_row: MakeRow) -> None:
    """Those of LIMIT-L are all low, and would lie upon each other below those of LIMIT-G."""
    high, low = Kept(make_row(method="limit-g"), "9100/5000/1000"), Kept(make_row(), "2900/9000/1000")
    drawn = BETA_SWEEP.draw([high, low])
    assert drawn is not None
    charts = list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}svg"))[1:3]
    texts = [" ".join(chart.itertext()) for chart in charts]
    assert ["100\N{NO-BREAK SPACE}%" in text for text in texts] == [True, False]
    assert ["30\N{NO-BREAK SPACE}%" in text for text in texts] == [False, True]


def test_memorisation_compares_the_paper_s_regularisers(make_row: MakeRow) -> None:
    protocol = protocol_of(MEMORISATION, quick=False)
    assert protocol.patience == protocol.epochs, "no early stopping"
    tasks = MEMORISATION.tasks(protocol)
    assert {task.spec.dropout for task in tasks} == {0.0, 0.25, 0.5, 0.75}
    assert {task.spec.weight_decay for task in tasks} == {0.0, 1e-4, 1e-3, 1e-2}
    kept = [
        Kept(row_of(task, protocol, make_row), f"1000/3000/{round(1000 * task.spec.dropout)}")
        for task in tasks
    ]
    assert {training_of(one.row) for one in kept} == set(SEARCHED)
    assert chosen(kept)["dropout"].row.hyper == "dropout=0.75"


def test_memorisation_shows_the_value_that_is_best_in_the_end(make_row: MakeRow) -> None:
    row = make_row(network="mlp-4x512", method="limit-l", hyper="beta=0.3", validation_accuracy=0.3)
    falls = Kept(row, "2000 1000/9000 2000/3000 1000")
    lasts = Kept(replace(row, hyper="beta=3", validation_accuracy=0.25), "2000 2000/9000 9000/2500 2500")
    assert chosen([falls, lasts])["LIMIT-L"].row.hyper == "beta=3"


def test_the_caption_counts_the_bits_that_training_accuracy_implies(make_row: MakeRow) -> None:
    row = make_row(network="mlp-4x512", method="ce", hyper="")
    memorised = MEMORISATION.caption([Kept(row, "2000 9000/1000 1000/1000 1000")])
    assert "cross-entropy 90.0 %, 2.47 bits, 10.0 %" in memorised
    assert "implies at least (an indication: Theorem 2.1 is about expectations" in memorised
    right = MEMORISATION.caption([Kept(row, "1000 2000/1000 9000/1000 2000")])
    assert "cross-entropy 20.0 %, 0.00 bits, 90.0 %" in right
    assert "chance" not in right


def test_the_caption_names_trainings_that_ended_at_chance(make_row: MakeRow) -> None:
    row = make_row(network="mlp-4x512", method="limit-l", hyper="beta=0", validation_accuracy=0.3)
    lost = Kept(row, "1000 1000/1000 1000/1000 1000")
    kept = Kept(replace(row, hyper="beta=3"), "2000 2000/9000 9000/2000 2000")
    assert "At chance in the end: beta=0. " in MEMORISATION.caption([lost, kept])


def test_memorisation_shows_no_value_that_it_does_not_search(make_row: MakeRow) -> None:
    row = make_row(network="mlp-4x512", method="limit-l", hyper="beta=3", patience=200)
    assert MEMORISATION.wants(row)
    assert not MEMORISATION.wants(replace(row, patience=100)), "it may have been stopped early"
    assert not MEMORISATION.wants(replace(row, hyper="beta=7"))


def test_a_whole_run_of_memorisation_does_for_a_shorter_one(make_row: MakeRow) -> None:
    whole, short = (MEMORISATION.protocol(epochs=epochs) for epochs in (None, 15))
    assert whole is not None
    assert short is not None
    tasks = MEMORISATION.tasks(whole)
    kept = [Kept(row_of(task, whole, make_row), VALUES["curves"]) for task in tasks]
    assert MEMORISATION.missing(kept, short) == []
    screened = [replace(one, row=replace(one.row, epochs=15, epochs_run=15)) for one in kept]
    assert MEMORISATION.missing(screened, whole) == tasks
    assert current_kept([*screened, *kept]) == kept


def test_a_caption_says_how_many_runs_had_fewer_epochs_than_the_one_that_is_shown(make_row: MakeRow) -> None:
    shown = Kept(make_row(validation_accuracy=0.2), VALUES["histograms"])
    cut = [replace(shown, row=make_row(epochs=epochs, epochs_run=epochs, best_epoch=8)) for epochs in (8, 24)]
    stopped = replace(shown, row=make_row(epochs=300))
    caption = FIGURES["histograms-mnist"].caption
    assert "of 2 runs of this seed; its test" in caption([shown, stopped]), "more epochs would change nothing"
    assert "of 3 runs of this seed, 1 of them of 8 epochs; its" in caption([shown, stopped, cut[0]])
    assert "of 3 runs of this seed, 2 of them of 8 to 24 epochs; its" in caption([shown, *cut])
