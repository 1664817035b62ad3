"""Audits of numbers, from data to a corrected copy."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from noiselimit import InputError, find_label_issues, open_audit
from noiselimit.audit.plan import AuditPlan
from noiselimit.audit.value_judges import judge_values
from noiselimit.audit.value_model import fit_value_model
from noiselimit.cli.main import run
from noiselimit.errors import Notice
from noiselimit.review.queue import Filter
from noiselimit.review.session import Session

QUICK = AuditPlan(fast=True, epochs=40)


def table(count: int = 240, share: float = 0.15) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Inputs, true values, and values of which some are wrong."""
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.uniform(size=(count, 3)), columns=["size", "age", "distance"])
    spread = 2 + 8 * frame["age"]
    true = 200 + 100 * frame["size"] - 50 * frame["distance"] + spread * generator.normal(size=count)
    true = true.to_numpy().round(1)
    given, wrong = true.copy(), generator.permutation(count)[: round(share * count)]
    given[wrong[::2]] *= 10
    given[wrong[1::2]] = true[np.roll(wrong[1::2], 1)]
    return frame, true, given


def quiet_issues(*data: object, **settings: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        return find_label_issues(*data, threads=1, plan=QUICK, **settings)


def test_wrong_values_are_found_with_a_suggestion_and_an_interval() -> None:
    frame, true, given = table()
    wrong = given != true
    given[3] = np.nan
    frame.index = [f"house {row}" for row in range(len(frame))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Notice)
        issues = find_label_issues(frame, given, threads=1, plan=QUICK)
    assert any("regression" in str(each.message) for each in caught)
    assert list(issues.index) == list(frame.index)
    known = ~np.isnan(given)
    assert roc_auc_score(wrong[known], issues["error_probability"][known]) > 0.9
    assert issues.attrs["interval"][0] < wrong.mean() < issues.attrs["interval"][1]
    flagged = issues["is_label_issue"].to_numpy()
    assert wrong[flagged].mean() > 0.8
    assert flagged[wrong & (given > 2 * true)].all()
    assert np.abs(issues["predicted_label"] - true).median() < 10
    assert 0.8 < ((issues["low"] <= true) & (true <= issues["high"])).mean() < 0.97
    assert not flagged[3]
    assert np.isnan(issues["given_label"].iloc[3])
    assert 100 < issues["predicted_label"].iloc[3] < 350
    assert issues["rank"].dropna().is_unique


def test_the_spread_depends_on_the_inputs() -> None:
    frame, true, _ = table(1000)
    labels = (true - np.median(true)) / true.std()
    inputs = frame.to_numpy(np.float32)
    model = fit_value_model(list(judge_values(inputs, labels, threads=1, fast=True).values()), labels, inputs)
    assert np.corrcoef(model.spread, frame["age"])[0, 1] > 0.6
    assert model.error_probability.mean() < 0.05
    assert sum(model.weights) == pytest.approx(1)


def test_the_task_is_recognised_from_the_labels_and_can_be_given() -> None:
    frame, true, given = table(120)
    classes = (true > np.median(true)).astype(int)
    assert "rank_in_class" in quiet_issues(frame, classes)
    assert "low" in quiet_issues(frame, classes + given.round(), task="regression")
    with pytest.raises(InputError, match="label"):
        quiet_issues(frame, given, task="classification")
    for bad, word in (
        (np.full(120, 3.5), "nothing to learn"),
        (np.where(true > 250, np.inf, true), "infinite"),
        (["cheap", *given[1:]], "cheap"),
    ):
        with pytest.raises(InputError, match=word):
            quiet_issues(frame, bad, task="regression")
    with pytest.raises(InputError, match="50"):
        quiet_issues(frame[:40], given[:40])


def test_what_cannot_be_learned_is_not_flagged() -> None:
    generator = np.random.default_rng(1)
    issues = quiet_issues(generator.normal(size=(150, 2)), generator.normal(size=150))
    assert "learned next to nothing" in issues.attrs["warning"]
    assert not issues["is_label_issue"].any()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_line_audits_reviews_and_corrects(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, _, given = table(160)
    frame = frame.assign(price=given, name=[f"house {row}" for row in range(160)])
    frame.loc[2, "price"] = np.nan
    data = Path(f"prices.{ending}")
    getattr(frame, f"to_{ending}")(data, index=False)
    options = ["--label", "price", "--fast", "--epochs", "40", "--threads", "1", "--quiet", "--json"]
    assert run(["audit", str(data), *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["task"] == "regression"
    assert (
        answer["worst"][0]["low"] < float(answer["worst"][0]["suggested_label"]) < answer["worst"][0]["high"]
    )
    assert answer["worst"][0]["given_label"] in Path(answer["report"]).read_text()
    assert answer["pred_probs"] is None

    assert run(["audit", "digits", "--task", "regression", "--out", "other"]) == 2
    assert run(["audit", str(data), "--task", "counting", "--out", "other"]) == 2
    saved = open_audit("audit-prices")
    session = Session(saved)
    try:
        row = answer["worst"][0]["row"]
        start, detail = session.start(), session.detail(row)
        assert start["classes"][detail["given"]] == answer["worst"][0]["given_label"]
        assert start["classes"][detail["suggested"]] == answer["worst"][0]["suggested_label"]
        assert session.listed(Filter())["rows"]
        assert session.near(row, detail["other"])["rows"]
        session.decide([(row, False)], "relabel", detail["suggested"], False, "", "ann")
    finally:
        session.close()
    assert run(["apply", "audit-prices", "--to", f"fixed.{ending}"]) == 0
    fixed = getattr(pd, f"read_{ending}")(f"fixed.{ending}")
    expected = frame["price"].copy()
    expected[row] = float(answer["worst"][0]["suggested_label"])
    np.testing.assert_array_equal(fixed["price"], expected)
    pd.testing.assert_frame_equal(fixed.drop(columns="price"), frame.drop(columns="price"))
    # Decisions from a file may name any number.
    Path("decisions.csv").write_text("row,action,label\n5,relabel,123.25\n6,drop,\n")
    changes = saved.changes("decisions.csv")
    assert changes["label"].tolist() == ["123.25", None]
    Path("decisions.csv").write_text("row,action,label\n5,relabel,cheap\n")
    with pytest.raises(InputError, match="number"):
        saved.changes("decisions.csv")
