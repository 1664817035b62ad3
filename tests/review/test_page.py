"""The page in Chromium: the keyboard alone, undo, filters, neighbours; text from data is inert."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import noiselimit.review
from noiselimit.cli.main import run
from noiselimit.data.reading import Reading
from noiselimit.review.queue import Filter
from noiselimit.review.server import Review
from tests.audits import saved

DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
HOSTILE = (
    "<script>window.ran=1</script>",
    '"><img src=http://127.0.0.1:9/x onerror="window.ran=2">',
    "'><svg onload=window.ran=3>",
    "\u202eright to left\u202c",
    "{{7*7}}${7*7}",
    "__proto__",
)
FOREIGN = """() => ({
    ran: window.ran === undefined ? 0 : window.ran,
    elements: document.querySelectorAll("iframe, object, embed, base, svg, a:not(.skip)").length,
    scripts: document.querySelectorAll("script").length - 1,
    handlers: [...document.querySelectorAll("*")].filter(
        element => [...element.attributes].some(attribute => attribute.name.startsWith("on"))).length,
    images: [...document.images].filter(image => new URL(image.src).origin !== location.origin).length,
})"""


@contextmanager
def opened(browser: Any, served: Review, size: dict[str, int] = DESKTOP, **settings: Any) -> Iterator[Any]:
    """The page in a browser of its own; errors in it fail the test."""
    context = browser.new_context(viewport=size, **settings)
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(served.url)
    page.wait_for_selector("#keep:enabled")
    yield page
    assert problems == []
    context.close()


@pytest.fixture
def served(digits_audit: Path) -> Iterator[Review]:
    """The digits, served."""
    with noiselimit.review.open(digits_audit, reviewer="ann") as found:
        found.session.neighbours.wait(30)
        yield found


def settled(page: Any) -> None:
    """Wait until every key that was pressed has been worked off."""
    page.wait_for_function("() => document.body.dataset.busy === '0'")


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settled(page)


def test_a_whole_review_with_the_keyboard_alone(browser: Any, served: Review) -> None:
    listed = served.session.listed(Filter())["rows"]
    with opened(browser, served) as page:
        pressed: Counter[str] = Counter()
        keys = ["s"] * 7 + ["r", "u", "d", "1"]
        for number in range(1000):
            key = keys[number % len(keys)]
            page.keyboard.press(key)
            pressed[key] += 1
            if number % 20 == 19:
                settled(page)
                if page.locator("#finished").is_visible():
                    break
        current = served.decisions.current()
        assert sorted(listed) == current["row"].tolist()
        assert set(served.session.queue.flagged) < set(listed)
        assert (current["reviewer"] == "ann").all()
        entries = served.decisions.entries()
        assert len(entries) == len(current)  # every key decided one label, and none twice
        assert sum(entry.drawn for entry in entries) >= len(entries) // 8 - 1
        assert 0 < (current["action"] == "drop").sum() <= pressed["d"]
        assert (current["action"] == "relabel").sum() > 100
        page.wait_for_selector("#done:has-text('200 of 200')")


def test_another_class_undo_and_redo(browser: Any, served: Review) -> None:
    with opened(browser, served) as page:
        press(page, "s", "c", "7", "Enter")  # typed at once, faster than the first is stored
        press(page, "c")
        page.wait_for_selector("#classes[open]")
        press(page, "4", "Enter")
        press(page, "m")
        page.keyboard.type("smudged")
        press(page, "Enter", "d")
        current = served.decisions.current()
        assert current["action"].isin(["keep", "relabel", "drop"]).all()
        assert len(current) == 4
        assert {"7", "4"} <= set(current["label"])
        assert current.loc[current["action"] == "drop", "note"].tolist() == ["smudged"]
        press(page, *"zzzzz")
        assert served.decisions.current().empty
        press(page, *["Shift+Z"] * 5)
        assert served.decisions.current().equals(current)


def test_neighbours_and_several_lines_are_decided_together(browser: Any, served: Review) -> None:
    with opened(browser, served) as page:
        page.wait_for_selector("#neighbours button")
        press(page, "n")
        assert "13 labels" in page.locator("#together").inner_text()
        press(page, "r")
        assert len(served.decisions.current()) == 13
        assert len({entry.step for entry in served.decisions.entries()}) == 1
        press(page, "z")
        assert served.decisions.current().empty
        press(page, "Shift+J", "Shift+J", "Shift+ArrowDown", "u")
        assert served.decisions.current()["action"].tolist() == ["unsure"] * 4


def test_filters_orders_and_search(browser: Any, served: Review) -> None:
    queue = served.session.queue
    with opened(browser, served) as page:
        pair = queue.pairs(1)[0]
        page.select_option("#pair", f"{pair['given']},{pair['suggested']}")
        settled(page)
        page.wait_for_selector("#line-0 .given")
        listed = page.locator(".line").first.text_content()
        assert f"given \u2068{pair['given']}\u2069 → suggested \u2068{pair['suggested']}\u2069" in listed
        page.select_option("#pair", "")
        page.click("#order")
        page.select_option("#order", "probability")
        settled(page)
        press(page, "u", "d")  # decides, although these letters begin with an option's name
        assert sorted(served.decisions.current()["action"]) == ["drop", "unsure"]
        page.select_option("#state", "unsure")
        settled(page)
        assert page.locator(".line").count() == 1
        page.select_option("#state", "any")
        page.check("#scope")
        page.fill("#search", "1234")
        page.wait_for_selector("#line-0:has-text('row 1234')")
        assert page.locator(".line").count() == 1


def test_two_people_see_each_other(browser: Any, served: Review) -> None:
    with opened(browser, served) as ann, opened(browser, served) as bo:
        bo.locator("#name").click()
        bo.fill("#who-input", "bo")
        bo.keyboard.press("Enter")
        bo.wait_for_function("() => document.querySelector('#name').textContent === 'bo'")
        press(bo, "r")
        ann.wait_for_selector(".line.decided", timeout=15_000)
        press(ann, "d")
        assert served.decisions.current()["conflict"].tolist() == [True]
        assert {entry.reviewer for entry in served.decisions.entries()} == {"ann", "bo"}


def test_the_list_holds_only_what_is_visible(browser: Any, served: Review) -> None:
    with opened(browser, served) as page:
        page.select_option("#state", "any")
        page.check("#scope")
        settled(page)
        assert page.evaluate("() => document.querySelector('#list').scrollHeight") == 1797 * 72
        page.evaluate("() => { document.querySelector('#list').scrollTop = 1000 * 72; }")
        page.wait_for_selector("#line-1000:has(img)")
        assert page.locator(".line").count() < 40


def test_a_link_on_another_site_opens_the_page(browser: Any, served: Review) -> None:
    context = browser.new_context()
    page, link = context.new_page(), f"<a href='{served.url}'>review</a>"
    page.route("http://chat.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto("http://chat.example/")
    page.click("a")
    page.wait_for_selector("#keep:enabled")
    context.close()


def test_a_server_that_ended_is_said(browser: Any, digits_audit: Path) -> None:
    with noiselimit.review.open(digits_audit) as served:
        context = browser.new_context()
        page = context.new_page()
        page.goto(served.url)
        page.wait_for_selector("#keep:enabled")
    page.keyboard.press("s")
    page.wait_for_selector("#problem:not([hidden])")
    assert page.locator(".line.decided").count() == 0
    context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser: Any, served: Review, size: dict[str, int], scheme: str) -> None:
    with opened(browser, served, size, color_scheme=scheme, bypass_csp=True) as page:
        check_accessibility(page)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_accessibility_of_long_texts(browser: Any, tmp_path: Path, size: dict[str, int]) -> None:
    words = [f"{row} is {'good' if row % 2 else 'bad'}. " * 500 for row in range(40)]
    pd.DataFrame({"words": words, "label": np.arange(40) % 2}).to_csv(tmp_path / "texts.csv", index=False)
    audit = saved(tmp_path / "texts.csv", tmp_path / "audit", Reading(features="tf-idf"))
    with (
        noiselimit.review.open(audit, reviewer="ann") as served,
        opened(browser, served, size, bypass_csp=True) as page,
    ):
        check_accessibility(page)


def check_accessibility(page: Any) -> None:
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    axe = files("axe_playwright_python").joinpath("axe.min.js")  # axe-core from npm
    page.add_script_tag(content=axe.read_text("utf-8"))
    for keys in ((), ("e",), ("u", "n"), ("?",), ("Escape", "c")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_timeout(300)
        found = page.evaluate("async () => (await axe.run()).violations")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []


@pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "without"])
def test_text_from_data_is_inert(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = np.arange(60) % 3
    frame = pd.DataFrame({bad: np.array(HOSTILE[:3])[labels[::-1]] for bad in HOSTILE[3:]})
    frame["words"] = [f"{HOSTILE[row % 6]} is what stands in line number {row} here" for row in range(60)]
    frame["label"] = np.array(HOSTILE[:3])[generator.permutation(labels)]
    frame.to_csv("<b>table.csv", index=False)
    options = ("--epochs", "2", "--fast", "--quiet", "--budget", "9", "--threads", "1")
    assert run(["audit", "<b>table.csv", *options, "--features", "tf-idf", "--out", "table"]) == 0
    for number in range(40):
        place = Path("photos", ("<svg onload=ran=7>", '"onmouseover="ran=8"')[number % 2])
        place.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 255, (8, 8)).astype(np.uint8)
        Image.fromarray(pixels).save(place / f"<img src=x onerror=ran=9>{number}.png")
    script = "<svg xmlns='http://www.w3.org/2000/svg'><script>window.ran=10</script></svg>"
    (place / "drawing.png").write_text(script)
    (place / "drawing.svg").write_text(script)
    assert run(["audit", "photos", *options, "--skip-bad-images", "--out", "pictures"]) == 0
    for folder in ("table", "pictures"):
        with (
            noiselimit.review.open(folder, reviewer=HOSTILE[0]) as served,
            opened(browser, served, bypass_csp=not policy) as page,
        ):
            served.session.neighbours.wait(30)
            for keys in (("n", "s"), ("m",), ("e", "c"), ("Escape", "z", "u")):
                for key in keys:
                    page.keyboard.press(key)
                page.wait_for_timeout(300)
            page.keyboard.press("Escape")
            text, found = page.evaluate("() => document.body.innerText"), page.evaluate(FOREIGN)
            assert set(found.values()) == {0}
            assert HOSTILE[0] in text if folder == "table" else "<svg onload=ran=7>" in text


def test_decisions_of_a_review_are_exported_and_applied(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    labels = np.arange(90) % 3
    frame = pd.DataFrame(
        {"x": labels + generator.normal(size=90) / 5, "label": np.array(list("abc"))[labels]}
    )
    frame.to_csv("table.csv", index=False)
    options = ("--epochs", "2", "--fast", "--quiet", "--budget", "9", "--threads", "1", "--out", "audit")
    assert run(["audit", "table.csv", *options]) == 0
    with noiselimit.review.open("audit") as served, opened(browser, served) as page:
        press(page, "c", "b", "Enter", "d", "r")
        decided = served.decisions.current()
    assert run(["apply", "audit", "--to", "corrected.csv"]) == 0
    expected = frame.copy()
    for row, action, label in zip(decided["row"], decided["action"], decided["label"], strict=True):
        expected.loc[row, "label"] = label if action == "relabel" else expected.loc[row, "label"]
    expected = expected.drop(decided.loc[decided["action"] == "drop", "row"])
    assert pd.read_csv("corrected.csv").equals(expected.reset_index(drop=True))
    assert run(["decisions", "audit", "--to", "decisions.csv"]) == 0
    assert pd.read_csv("decisions.csv")["action"].tolist() == decided["action"].tolist()


@pytest.mark.slow
def test_audit_again_with_the_decisions(browser: Any, served: Review) -> None:
    with opened(browser, served) as page:
        press(page, *["s"] * 30)
        before = served.session.queue.probability.copy()
        press(page, "e")
        page.click("#reaudit")
        page.wait_for_function(
            "() => document.querySelector('#reaudit-state').textContent.includes('ranked')", timeout=120_000
        )
        assert (served.session.queue.probability != before).any()
        settled(page)
        press(page, "s")
        assert len(served.decisions.current()) == 31
