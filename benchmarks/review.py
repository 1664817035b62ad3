"""The review page: time to the first label and to store a decision; how often estimates hold the truth."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import noiselimit.review
from benchmarks.peers import Flags
from benchmarks.results import Quick, environment
from noiselimit.audit.fit import AuditFit
from noiselimit.audit.folder import save_audit
from noiselimit.audit.issues import FlagRule, GivenLabels, audit_labels, audit_probabilities
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.report import training_part
from noiselimit.audit.saved import Origin
from noiselimit.data.catalogue import load_data
from noiselimit.data.reading import Reading
from noiselimit.errors import InputError
from noiselimit.files import write_json
from noiselimit.review.estimate import Integers, Reviewed, estimate
from noiselimit.review.queue import ORDERS, Filter, Queue
from noiselimit.review.server import Review

DATA = ("digits", "breast_cancer", "wine", "iris")
WRONG = 0.15
AGAIN = 37
"""Rows after which a simulated reviewer changes the order or the filter."""


@contextmanager
def served(flagged: int, classes: int = 10) -> Iterator[Review]:
    """A review of random 8 × 8 images with so many flagged rows, a fifth more in all."""
    generator = np.random.default_rng(0)
    count = flagged + flagged // 5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "images.npz")
        labels = np.arange(count) % classes
        np.savez(path, X=generator.integers(0, 256, (count, 1, 8, 8), np.uint8), y=labels)
        data = training_part(load_data(str(path), reading=Reading()))
        probabilities = generator.dirichlet(np.full(classes, 0.2), count).astype(np.float32)
        model = fit_label_model([probabilities], data.examples.labels)
        audit = audit_labels(GivenLabels(data.examples.labels, None), model, FlagRule(budget=flagged))
        origin = Origin.of(str(path), data, Reading(), None, None)
        fit = AuditFit(model, ("random",), 0, [], [])
        save_audit(Path(folder, "audit"), audit, fit, data, origin, overwrite=False)
        with noiselimit.review.open(Path(folder, "audit"), reviewer="ann") as review:
            yield review


def first_page(review: Review, times: int) -> list[float]:
    """Seconds until the first label and its line in the list are shown, in a browser that is running."""
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for _ in range(times):
            page = browser.new_context().new_page()
            started = time.perf_counter()
            page.goto(review.url, wait_until="commit")
            page.wait_for_selector("#keep:enabled")
            page.wait_for_selector("#line-3 img")
            seconds.append(time.perf_counter() - started)
            page.context.close()
        browser.close()
    return seconds


def decision_times(review: Review, times: int) -> list[float]:
    """Seconds until a decision that is sent over HTTP is acknowledged."""
    import httpx2

    address = review.url.partition("?")[0]
    bearer = {"authorization": f"Bearer {review.token}"}
    rows = review.session.listed(Filter())["rows"]
    seconds = []
    with httpx2.Client(base_url=address, headers=bearer) as client:
        for row in rows[:times]:
            body = {"rows": [{"row": row}], "action": "relabel", "suggested": True, "reviewer": "ann"}
            started = time.perf_counter()
            client.post("/api/decide", json=body).raise_for_status()
            seconds.append(time.perf_counter() - started)
    return seconds


def noisy(name: str, seed: int) -> tuple[Queue, Flags]:
    """The queue of an audit of one of scikit-learn's data sets with wrong labels, and which are wrong."""
    generator = np.random.default_rng(seed)
    inputs, right = getattr(datasets, f"load_{name}")(return_X_y=True)
    classes = int(right.max()) + 1
    wrong = generator.random(len(right)) < WRONG
    given = np.where(wrong, (right + generator.integers(1, classes, len(right))) % classes, right)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    probabilities = cross_val_predict(model, inputs, given, cv=5, method="predict_proba")
    table = audit_probabilities(given, probabilities).table
    predicted = table["predicted_label"].to_numpy(np.int64)
    flags = table["is_label_issue"].to_numpy(bool)
    error = table["error_probability"].to_numpy(np.float64)
    return Queue(given, predicted, error, flags, tuple(map(str, range(classes)))), wrong


def simulate(queue: Queue, wrong: Flags, seed: int) -> dict[str, Any]:
    """Review up to a random moment, in orders and with filters that change, and compare with the truth."""
    generator = np.random.default_rng(seed)
    count = len(wrong)
    order: Integers = np.zeros(count, np.int64)
    reviewed, none = Reviewed(order, np.zeros(count, bool), np.zeros(count, bool)), np.zeros(count, bool)
    steps, done = int(generator.integers(10, max(int(queue.is_flagged.sum()), 11))), 0
    while done < steps:
        wanted: dict[str, Any] = {"order": str(generator.choice(ORDERS))}
        if generator.random() < 0.3:
            wanted |= queue.pairs(5)[int(generator.integers(min(5, len(queue.pairs(5)))))]
            wanted.pop("count")
        rows, checks = queue.rows(Filter(**wanted), order > 0, none, none)
        if not len(rows):
            continue
        drawn = set(checks.tolist())
        for place, row in enumerate(rows[: min(AGAIN, steps - done)]):
            done += 1
            order[row], reviewed.wrong[row], reviewed.drawn[row] = done, wrong[row], place in drawn
    found = estimate(queue.flagged, queue.unflagged, reviewed, queue.probability)
    left = int((wrong & (order == 0)).sum())
    precision = wrong[queue.is_flagged]
    share = float(precision.mean()) if len(precision) else 0.0
    return {
        "steps": steps,
        "left": left,
        **{f"remaining_{end}": value for end, value in found.remaining._asdict().items()},
        "remaining_covered": found.remaining.low - 1e-9 <= left <= found.remaining.high + 1e-9,
        "precision_covered": found.precision is None
        or found.precision.low - 1e-9 <= share <= found.precision.high + 1e-9,
    }


def coverage(reviews: int) -> list[dict[str, Any]]:
    """One row per data set: shares of the reviews whose intervals hold the truth."""
    rows = []
    for name in DATA:
        found = [simulate(*noisy(name, seed), seed) for seed in range(reviews)]
        width = [each["remaining_high"] - each["remaining_low"] for each in found]
        error = [abs(each["remaining_value"] - each["left"]) for each in found]
        rows.append(
            {
                "part": "coverage",
                "data": name,
                "reviews": reviews,
                "remaining_covered": float(np.mean([each["remaining_covered"] for each in found])),
                "precision_covered": float(np.mean([each["precision_covered"] for each in found])),
                "median_left": float(np.median([each["left"] for each in found])),
                "median_width": float(np.median(width)),
                "median_error": float(np.median(error)),
            }
        )
    return rows


def main(
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON file to write.")] = Path("review.json"),
    quick: Quick = False,
) -> None:
    """Measure the review page, and simulate reviews to see how often the estimates hold the truth."""
    flagged, pages, decisions, reviews = (2_000, 1, 20, 2) if quick else (100_000, 9, 500, 50)
    rows: list[dict[str, Any]] = []
    with served(flagged) as review:
        try:
            seconds = first_page(review, pages)
        except ImportError:
            raise InputError("this needs a browser: pip install playwright, and Chromium.") from None
        rows.append({"part": "first page", "flagged": flagged, "times": pages, **_summary(seconds)})
        times = decision_times(review, decisions)
        rows.append({"part": "decision", "flagged": flagged, "times": decisions, **_summary(times)})
    rows += coverage(reviews)
    write_json(out, {"quick": quick, **environment(torch.device("cpu")), "rows": rows})
    for row in rows:
        print(
            ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else str(value)
                for name, value in row.items()
            )
        )


def _summary(seconds: list[float]) -> dict[str, float]:
    return {"median_seconds": float(np.median(seconds)), "p95_seconds": float(np.quantile(seconds, 0.95))}
