from noiselimit.report import Report, RunLine
from noiselimit.report.charts import curve_hint, memorisation_curve
from noiselimit.report.html import render


def run(method: str, bits: list[float | None], entropy: float | None) -> RunLine:
    history = [
        {"epoch": epoch, "train_accuracy": 0.5, "memorised_bits": value, "noise_entropy": entropy}
        for epoch, value in enumerate(bits, 1)
    ]
    return RunLine(method, {}, 0, history=history)


def test_the_bits_are_drawn_with_what_there_is_to_memorise() -> None:
    report = Report("t", "s", [run("ce", [0.0, 1.0, 2.0], 3.2), run("limit-l", [0.0, 0.0, 0.0], 3.25)])
    curve = memorisation_curve(report)
    assert curve is not None
    assert curve.heading == "Memorised bits per label, at least"
    assert "all there is: 3.25" in curve.svg
    assert curve.svg.count("<polyline") + curve.svg.count("<path") >= 2
    assert "if these runs are typical" in curve_hint(report)
    assert curve.heading in render(report)


def test_an_estimate_that_moves_has_no_level() -> None:
    curve = memorisation_curve(Report("t", "s", [run("a", [0.1, 0.2], 1.0), run("b", [0.1, 0.2], 2.0)]))
    assert curve is not None
    assert "all there is" not in curve.svg


def test_without_bits_there_is_no_curve() -> None:
    report = Report("t", "s", [run("ce", [None, None], None)])
    assert memorisation_curve(report) is None
    assert "typical" not in curve_hint(report)
    assert "Memorised bits" not in render(report)
