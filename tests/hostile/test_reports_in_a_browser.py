"""What came from data shows as text: in Chromium, with the page's own policy and without it.

The policy alone would keep scripts from running, so each page is also shown without it: there only escaping
helps.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import Shown, opened_browser, show
from PIL import Image

from noiselimit.cli import demo
from noiselimit.cli.main import run
from noiselimit.data.examples import DataSet, make_examples
from noiselimit.data.mnist import digits
from noiselimit.report import Report, RunLine, Suspect, write_report
from noiselimit.report.content import AuditReport, Confusion, Gallery

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
HOSTILE = (
    "<script>ran=1;alert(1)</script>",
    '"><img src=http://127.0.0.1:9/x onerror="ran=2">',
    "'><svg onload=ran=3>",
    "</style><script>ran=4</script>",
    "</title></svg><iframe src=javascript:ran=5>",
    "{{7*7}}{% raw %}",
    "\u202eright to left\u202c",
    "<!--<b>&lt;&#60;&amp;",
    "]]><![CDATA[<script>ran=6</script>",
)


AUDIT = ("--epochs", "2", "--fast", "--quiet", "--budget", "9", "--out", "a")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as opened:
        yield opened


@pytest.mark.parametrize(
    ("said", "outcome"), [(None, pytest.skip.Exception), ("required", pytest.fail.Exception)]
)
@pytest.mark.parametrize("lacking", ["chromium", "playwright"])
def test_a_browser_that_is_missing_is_not_passed_over(
    said: str | None, outcome: type[BaseException], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOISELIMIT_BROWSER", raising=False)
    if said:
        monkeypatch.setenv("NOISELIMIT_BROWSER", said)
    monkeypatch.setattr("shutil.which", lambda name: None if lacking == "chromium" else f"/bin/{name}")
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(outcome, match=lacking), opened_browser():
        pass


def assert_harmless(browser: Any, page: Path) -> Shown:
    """Shown with and without its policy, it runs nothing, asks for nothing and has no foreign element."""
    bare = page.with_name("bare.html")
    text, count = POLICY.subn("", page.read_text("utf-8"))
    assert count == 1
    bare.write_text(text, "utf-8")
    for each in (page, bare):
        shown = show(browser, each)
        assert shown.dialogs == shown.requests == shown.complaints == ()
        assert shown.ran is None
        assert (shown.scripts, shown.handlers, shown.foreign, shown.styles) == (0, 0, 0, 1)
    bare.unlink()
    return shown


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_the_browser_would_notice(browser: Any, tmp_path: Path) -> None:
    """Unescaped, the same strings do what they are there for."""
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title></title><p>" + "<p>".join(HOSTILE), "utf-8")
    shown = show(browser, page)
    assert shown.dialogs == ("1",)
    assert shown.requests
    assert shown.ran is not None
    assert shown.scripts
    assert shown.handlers


def test_every_field_of_a_report_of_runs(browser: Any, tmp_path: Path) -> None:
    history = [{"epoch": n, "train_accuracy": 0.5, "test_accuracy": 0.6} for n in (1, 2)]
    runs = [
        RunLine(bad, {bad: 1.0}, seed, True, 0.5, 0.5, history=history, settings={bad: bad}, note=bad)
        for seed, bad in enumerate(HOSTILE)
    ]
    suspects = [Suspect(0, bad, bad + "2", 1.0, "clean " + bad, values=bad, name=bad) for bad in HOSTILE]
    words = " ".join(HOSTILE)
    facts = dict(zip(HOSTILE, HOSTILE, strict=True))
    report = Report(words, words, runs, np.ones(3), np.ones(2), suspects, facts, wrong_share=0.2)
    write_report(tmp_path / "report.html", report)
    shown = assert_harmless(browser, tmp_path / "report.html")
    for bad in HOSTILE:
        assert spaced(shown.text).count(spaced(bad)) >= 10


def test_every_field_of_a_report_of_an_audit(browser: Any, tmp_path: Path) -> None:
    picture = np.zeros((1, 4, 4), np.uint8)
    suspects = [
        Suspect(n, bad, bad, 1.0, bad, picture if n % 2 else None, columns=[(bad, bad)], name=bad)
        for n, bad in enumerate(HOSTILE)
    ]
    report = AuditReport(
        *(" ".join(HOSTILE) for _ in range(4)),
        class_names=HOSTILE,
        transition=np.full((len(HOSTILE), len(HOSTILE)), 1 / len(HOSTILE)),
        confusions=[Confusion(bad, bad, 3.0) for bad in HOSTILE],
        gaps_kept=np.ones(3),
        gaps_flagged=np.ones(2),
        threshold=0.7,
        galleries=[Gallery(bad, 1, 2, suspects) for bad in HOSTILE],
        warning=" ".join(HOSTILE),
        worst=suspects,
        other_classes=[(bad, 3) for bad in HOSTILE],
        unflagged_classes=HOSTILE,
        facts=dict(zip(HOSTILE, HOSTILE, strict=True)),
    )
    write_report(tmp_path / "report.html", report)
    shown = assert_harmless(browser, tmp_path / "report.html")
    for bad in HOSTILE:
        assert spaced(shown.text).count(spaced(bad)) >= 2 + 4 * len(HOSTILE)
        assert spaced(f"right label {bad}, given label {bad}") in spaced(shown.all)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Column names, cells and classes that would be markup."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = np.arange(60) % 3
    frame = pd.DataFrame({bad: np.array(HOSTILE[:3])[labels[::-1]] for bad in HOSTILE[3:6]})
    frame["number"] = generator.normal(size=60) + labels
    frame["label"] = np.array(HOSTILE[6:9])[generator.permutation(labels)]
    frame.to_csv("<b>table.csv", index=False)
    return Path("<b>table.csv")


def test_pages_of_commands_on_a_hostile_table(browser: Any, table: Path) -> None:
    assert run(["train", "--data", str(table), "--epochs", "1", "--quiet", "--out", "runs"]) == 0
    shown = assert_harmless(browser, table.absolute().parent / "runs" / "report.html")
    assert all(spaced(bad) in spaced(shown.text) for bad in HOSTILE[6:9])
    assert "<b>table" in shown.text
    assert (
        run(["audit", str(table), "--epochs", "2", "--fast", "--quiet", "--budget", "9", "--out", "a"]) == 0
    )
    shown = assert_harmless(browser, table.absolute().parent / "a" / "report.html")
    assert all(spaced(bad) in spaced(shown.text) for bad in HOSTILE[:9])


def test_the_page_of_an_audit_of_hostile_file_names(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("<svg onload=ran=7>", '"onmouseover="ran=8"', "{{7*7}}")
    generator = np.random.default_rng(0)
    for number in range(30):
        place = Path("photos", names[number % 3])
        place.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 255, (8, 8)).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"<img src=x onerror=ran=9>{number}.png")
    assert run(["audit", "photos", *AUDIT]) == 0
    shown = assert_harmless(browser, tmp_path / "a" / "report.html")
    assert all(name in shown.text for name in names)
    assert "<img src=x onerror=ran=9>" in shown.text


def test_the_page_of_the_demo(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the digits had such names."""
    data = digits()
    names = (*HOSTILE, "nine")
    examples = make_examples(data.examples.inputs[:300], data.examples.labels[:300], class_names=names)
    monkeypatch.setattr(demo, "digits", lambda: DataSet("<b>digits", examples))
    demo.run_demo(tmp_path / "demo", epochs=1)
    shown = assert_harmless(browser, tmp_path / "demo" / "report.html")
    assert "<b>digits" in shown.text
    assert sum(spaced(bad) in spaced(shown.text) for bad in HOSTILE) > 5  # of the classes that are suspicious
