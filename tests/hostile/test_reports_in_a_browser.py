"""Text from data is inert in our pages, in Chromium, with the page's security policy and without it.

The policy alone would stop scripts, so each page is also shown without it: then only escaping helps.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from noiselimit.cli.main import run
from noiselimit.report.content import AuditReport, Confusion, Pair, Report, Suspect
from noiselimit.report.html import write_report
from tests.pages import run_line

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
FOREIGN = """() => ({
    elements: document.querySelectorAll("script, iframe, object, embed, base, link, form, a").length,
    handlers: [...document.querySelectorAll("*")].filter(
        element => [...element.attributes].some(attribute => attribute.name.startsWith("on"))).length,
    images: [...document.images].filter(image => !/^data:image\\/(png|jpeg);base64,/.test(image.src)).length,
    styles: document.querySelectorAll("style").length - 1,
    ran: window.ran === undefined ? 0 : window.ran,
})"""


def show(browser: Any, page: Path) -> tuple[str, dict[str, int], list[str]]:
    """(text with everything unfolded, foreign elements, what else happened) of a page."""
    events: list[str] = []
    tab = browser.new_page()

    def dismiss(dialog: Any) -> None:
        events.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", dismiss)
    tab.on("request", lambda request: events.append(request.url))
    tab.on("console", lambda message: events.append(message.text))
    tab.on("pageerror", lambda error: events.append(str(error)))
    tab.goto(page.as_uri(), wait_until="networkidle")
    tab.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = tab.evaluate(FOREIGN)
    tab.add_style_tag(content="* { content-visibility: visible !important; }")  # cards out of sight have text
    text = tab.evaluate("() => document.body.innerText")
    tab.close()
    allowed = (page.as_uri(), "data:image/png", "data:image/jpeg")
    return " ".join(text.split()), found, [event for event in events if not event.startswith(allowed)]


def assert_inert(browser: Any, page: Path) -> str:
    """The page's text, after checks that it runs, requests and contains nothing foreign."""
    bare = page.with_name("bare.html")
    content, count = POLICY.subn("", page.read_text("utf-8"))
    assert count == 1
    bare.write_text(content, "utf-8")
    for each in (page, bare):
        text, found, events = show(browser, each)
        assert events == []
        assert set(found.values()) == {0}
    bare.unlink()
    return text


def spaced(text: str) -> str:
    return " ".join(text.split())


def test_the_browser_notices_unescaped_text(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title></title><style></style><p>" + "<p>".join(HOSTILE), "utf-8")
    _, found, events = show(browser, page)
    assert "1" in events
    assert any("127.0.0.1:9" in event for event in events)
    assert found["ran"]
    assert found["elements"]
    assert found["handlers"]


def test_every_field_of_a_report_of_runs(browser: Any, tmp_path: Path) -> None:
    history = [{"epoch": n, "train_accuracy": 0.5, "test_accuracy": 0.6} for n in (1, 2)]
    runs = [
        run_line(bad, {bad: 1.0}, seed, True, history, dict.fromkeys(HOSTILE, bad), failure=bad)
        for seed, bad in enumerate(HOSTILE)
    ]
    suspects = [
        Suspect(0, bad, bad + "2", 1.0, "clean " + bad, columns=[(bad, bad)], name=bad) for bad in HOSTILE
    ]
    words = " ".join(HOSTILE)
    facts = dict(zip(HOSTILE, HOSTILE, strict=True))
    gaps = dict.fromkeys(HOSTILE[:2], np.ones(3))
    report = Report(words, words, runs, scores=gaps, suspects=suspects, facts=facts, wrong_share=0.2)
    write_report(tmp_path / "report.html", report)
    text = assert_inert(browser, tmp_path / "report.html")
    assert all(text.count(spaced(bad)) >= 10 for bad in HOSTILE)


def test_every_field_of_a_report_of_an_audit(browser: Any, tmp_path: Path) -> None:
    picture = np.zeros((1, 4, 4), np.uint8)
    suspects = [
        Suspect(n, bad, bad, 1.0, bad, picture if n % 2 else None, columns=[(bad, bad)], name=bad)
        for n, bad in enumerate(HOSTILE)
    ]
    report = AuditReport(
        title=" ".join(HOSTILE),
        sentence=" ".join(HOSTILE),
        flagged=" ".join(HOSTILE),
        explanation=" ".join(HOSTILE),
        class_names=HOSTILE,
        transition=np.full((len(HOSTILE), len(HOSTILE)), 1 / len(HOSTILE)),
        confusions=[Confusion(bad, bad, 3.0) for bad in HOSTILE],
        scores=dict.fromkeys(HOSTILE[:2], np.ones(3)),
        threshold=0.7,
        flags=len(HOSTILE),
        pairs=[Pair(bad, bad, 1) for bad in HOSTILE * 2],
        by_class=[(bad, 1, 2) for bad in HOSTILE],
        warning=" ".join(HOSTILE),
        suspects=suspects,
        unflagged_classes=HOSTILE,
        facts=dict(zip(HOSTILE, HOSTILE, strict=True)),
    )
    write_report(tmp_path / "report.html", report)
    text = assert_inert(browser, tmp_path / "report.html")
    assert all(text.count(spaced(bad)) >= 16 for bad in HOSTILE)


def test_class_pairs_filter_the_cards_without_a_script(browser: Any, tmp_path: Path) -> None:
    suspects = [Suspect(n, f"c{n % 14}", "d", 1.0, error=0.9, pair=n % 14) for n in range(30)]
    report = AuditReport(
        title="",
        sentence="",
        flagged="",
        explanation="",
        flags=30,
        class_names=("c", "d"),
        transition=None,
        confusions=(),
        scores={"flagged": np.ones(3)},
        threshold=0.7,
        pairs=[Pair(f"c{n}", "d", 2 + (n < 2)) for n in range(14)],
        suspects=suspects,
    )
    write_report(tmp_path / "report.html", report)
    tab = browser.new_page(java_script_enabled=False)
    tab.goto((tmp_path / "report.html").as_uri())
    visible = tab.locator(".suspects > li:visible")
    assert visible.count() == 30
    tab.get_by_text("c1 → d").first.click()
    assert [text.split("row")[0].count("c1") for text in visible.all_inner_texts()] == [1, 1, 1]
    tab.keyboard.press("ArrowRight")  # the next class pair
    assert visible.count() == 2
    tab.get_by_text("more class pairs").click()
    tab.locator("label[for=pair-13]").click()
    assert visible.count() == 2
    tab.locator("label[for=pair-all]").click()
    assert visible.count() == 30
    tab.close()


AUDIT = ("--epochs", "2", "--fast", "--quiet", "--budget", "9", "--out", "a")


def test_pages_of_commands_on_a_hostile_table(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = np.arange(60) % 3
    frame = pd.DataFrame({bad: np.array(HOSTILE[:3])[labels[::-1]] for bad in HOSTILE[3:6]})
    frame["number"] = generator.normal(size=60) + labels
    frame["label"] = np.array(HOSTILE[6:9])[generator.permutation(labels)]
    frame.to_csv("<b>table.csv", index=False)
    assert run(["train", "--data", "<b>table.csv", "--epochs", "1", "--quiet", "--out", "runs"]) == 0
    text = assert_inert(browser, tmp_path / "runs" / "report.html")
    assert all(spaced(bad) in text for bad in ("<b>table", *HOSTILE[6:9]))
    assert run(["audit", "<b>table.csv", *AUDIT]) == 0
    text = assert_inert(browser, tmp_path / "a" / "report.html")
    assert all(spaced(bad) in text for bad in HOSTILE)


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
    text = assert_inert(browser, tmp_path / "a" / "report.html")
    assert all(name in text for name in (*names, "<img src=x onerror=ran=9>"))
