"""noiselimit audit: what it writes, prints and never touches, from every kind of data."""

import json
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from noiselimit.audit.diagnostics import Diagnosis
from noiselimit.audit.fit import AuditFit, fit
from noiselimit.audit.plan import DEFAULT, FAST
from noiselimit.cli.audit import make_plan, plain, quality, usual_folder
from noiselimit.cli.main import run
from noiselimit.data.catalogue import load_data
from noiselimit.data.reading import Reading

QUICK = ("--fast", "--quiet", "--threads", "1", "--epochs", "12")
FILES = {"label_issues.parquet", "label_issues.csv", "pred_probs.npy", "report.html"}
HOSTILE = "<script>alert(1)</script>"
NAMES = np.array(["ant", HOSTILE, "cow, brown"])
ROWS, WRONG = 240, np.arange(5, 240, 20)


def animals() -> pd.DataFrame:
    """Three kinds that anybody can tell apart; every twentieth row has the label of the next kind."""
    generator = np.random.default_rng(4)
    kinds = np.arange(ROWS) % 3
    frame = pd.DataFrame(6 * np.eye(3)[kinds] + generator.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    frame["site"] = np.array(["north", "south"])[generator.integers(0, 2, ROWS)]
    kinds[WRONG] = (kinds[WRONG] + 1) % 3
    frame["kind"] = NAMES[kinds]
    return frame


def right_names() -> np.ndarray:
    return NAMES[np.arange(ROWS) % 3]


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with animals.csv and its audit in out/, made once."""
    folder = tmp_path_factory.mktemp("audited")
    animals().to_csv(folder / "animals.csv", index=False)
    source = str(folder / "animals.csv")
    assert run(["audit", source, "--label", "kind", "--out", str(folder / "out"), *QUICK]) == 0
    return folder


@pytest.fixture(scope="module")
def fitted(audited: Path) -> AuditFit:
    """What training says of the animals."""
    return fit(load_data(audited / "animals.csv", reading=Reading(label="kind")), threads=1)


@pytest.fixture
def trained(fitted: AuditFit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The animals have been fitted already: for tests of what becomes of it."""
    monkeypatch.setattr("noiselimit.audit.fit.fit", lambda data, plan, **how: fitted)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    animals().to_csv(tmp_path / "animals.csv", index=False)
    return tmp_path / "animals.csv"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Class folders of 8 × 8 pictures, bright above or bright below; one lies in the wrong folder."""
    generator = np.random.default_rng(3)
    for row in range(60):
        pixels = generator.integers(0, 60, size=(8, 8, 3))
        pixels[slice(0, 4) if row % 2 else slice(4, 8)] += 150
        place = tmp_path / "photos" / ("high" if row % 2 or row == 30 else "low & wide")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(place / f"{row}.png")
    return tmp_path / "photos"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_csv_becomes_a_folder_of_four_files(audited: Path) -> None:
    out = audited / "out"
    assert {path.name for path in out.iterdir()} == FILES
    issues = pd.read_parquet(out / "label_issues.parquet")
    assert list(issues.columns) == [
        "is_label_issue",
        "label_quality",
        "given_label",
        "predicted_label",
        "gap",
        "suggested_probability",
        "rank_in_class",
        "row",
    ]
    assert issues["given_label"].tolist() == animals()["kind"].tolist()
    assert np.flatnonzero(issues["is_label_issue"]).tolist() == WRONG.tolist()
    assert issues["predicted_label"].tolist() == right_names().tolist()
    plain = issues.astype({"given_label": "str", "predicted_label": "str"})
    pd.testing.assert_frame_equal(pd.read_csv(out / "label_issues.csv"), plain)
    probabilities = np.load(out / "pred_probs.npy", allow_pickle=False)
    assert probabilities.shape == (ROWS, 3)
    assert probabilities.dtype == np.float32
    assert np.allclose(probabilities.sum(1), 1, atol=1e-6)
    assert probabilities.argmax(1).tolist() == issues["predicted_label"].cat.codes.tolist()


def test_the_page_shows_names_from_data_as_text(audited: Path) -> None:
    tags: set[str] = set()
    texts: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.add(tag)
    parser.handle_data = texts.append
    parser.feed((audited / "out" / "report.html").read_text("utf-8"))
    assert "script" not in tags
    assert HOSTILE in texts
    assert "Learning curves" in texts
    assert any(text.startswith("Memorised bits per label") for text in texts)
    assert any(text.startswith("mean of classifier and predictor") for text in texts)


def test_the_terminal_says_how_many_which_and_where(command, trained, table) -> None:
    before = table.read_bytes()
    answer = command("audit", table, "--label", "kind", *QUICK)
    assert answer.code == 0
    assert answer.err == ""
    lines = answer.out.splitlines()
    assert lines[0].startswith("About 12 of 240 labels (5.0\u00a0%) are wrong, plausibly between ")
    assert lines[1].startswith("12 labels are flagged, from a gap of ")
    start = lines.index("The labels to look at first")
    assert lines[start + 1].split() == ["row", "given", "suggested", "quality"]
    worst = lines[start + 2 : start + 14]
    assert {int(line.split()[0]) for line in worst} == set(WRONG.tolist())
    assert any(HOSTILE in line for line in worst)
    assert lines[-1] == "Look at audit-animals/report.html"
    assert "AUROC" not in answer.out  # nobody knows the clean labels
    assert {path.name for path in Path("audit-animals").iterdir()} == FILES
    assert table.read_bytes() == before


def test_json_says_the_same(command, trained, table) -> None:
    answer = command("audit", table, "--label", "kind", "--out", "here", "--json", *QUICK)
    found = json.loads(answer.out)
    assert found["data"] == "animals"
    assert (found["audited_labels"], found["classes"], found["wrong_labels"]) == (240, 3, 12)
    low, high = found["interval"]
    assert low <= found["wrong_share"] == 12 / 240 <= high
    assert found["flagged"] == 12
    assert {row["row"] for row in found["worst"]} == set(WRONG.tolist())
    first = found["worst"][0]
    assert first["suggested_label"] == right_names()[first["row"]] != first["given_label"]
    assert first["label_quality"] == min(row["label_quality"] for row in found["worst"])
    assert (found["missing_labels"], found["known"], found["warning"]) == ([], None, None)
    assert [(run["beta"], run["counted"]) for run in found["runs"]] == [(3, True), (10, True)]
    assert all(Path(found[name]).is_file() for name in ("label_issues", "pred_probs", "report"))
    assert found["cleaned"] is None


def test_the_default_trains_two_betas_and_options_reach_the_runs(command, table) -> None:
    options = ("--epochs", "3", "--network", "mlp", "--quiet", "--json", "--label", "kind", "--threads", "1")
    runs = json.loads(command("audit", table, *options).out)["runs"]
    assert [(run["beta"], run["seed"], run["epochs"], run["network"]) for run in runs] == [
        (3, 0, 3, "mlp"),
        (10, 0, 3, "mlp"),
    ]
    chosen = ("--beta", "1, 2", "--seed", "4,5", "--overwrite")
    runs = json.loads(command("audit", table, *options, *chosen).out)["runs"]
    assert sorted((run["beta"], run["seed"]) for run in runs) == [(1, 4), (1, 5), (2, 4), (2, 5)]


def test_typed_settings_are_those_of_the_plan() -> None:
    typed = {"epochs": "7", "batch_size": "9", "learning_rate": "0.5", "network": "mlp", "seed": "3"}
    plan = make_plan(True, beta=None, **typed)
    assert plan == replace(FAST, epochs=7, batch_size=9, learning_rate=0.5, network="mlp", seeds=(3,))
    assert make_plan(False, beta="1,2, 2", seed=None).betas == (1.0, 2.0)
    assert make_plan(False) == DEFAULT


@pytest.mark.parametrize(
    ("source", "folder"),
    [("digits", "audit-digits"), ("a/b.csv", "audit-b"), ("here/", "audit-here"), (".", "audit-work")],
)
def test_the_folder_is_called_after_the_data(tmp_path, monkeypatch, source, folder) -> None:
    (tmp_path / "work" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    assert usual_folder(source) == Path(folder)


def test_a_terminal_obeys_nothing_that_comes_from_data() -> None:
    assert plain("a\x1b[31mb\nc\u202ed é<b>") == "a\ufffd[31mb\ufffdc\ufffdd é<b>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.000"), (9.4e-6, "9e-06"), (0.0005, "0.001"), (0.1234, "0.123"), (1.0, "1.000")],
)
def test_small_qualities_do_not_all_look_alike(value, text) -> None:
    assert quality(value) == text


@pytest.mark.parametrize("ending", ["parquet", "npz", "tsv"])
def test_other_files(command, tmp_path, ending) -> None:
    frame, path, label = animals(), tmp_path / f"animals.{ending}", ("--label", "kind")
    if ending == "parquet":
        frame.to_parquet(path, index=False)
    elif ending == "tsv":
        frame.to_csv(path, sep="\t", index=False)
    else:
        kinds = np.array([list(NAMES).index(name) for name in frame["kind"]])
        np.savez(path, inputs=frame[["a", "b", "c"]].to_numpy(), labels=kinds, class_names=NAMES)
        label = ()
    before = path.read_bytes()
    write = ("--write", tmp_path / f"cleaned.{ending}", "--fix", "relabel")
    found = json.loads(command("audit", path, *label, *write, "--json", *QUICK).out)
    assert found["flagged"] == 12
    assert found["cleaned"]["relabelled"] == 12
    assert path.read_bytes() == before
    again = json.loads(command("audit", tmp_path / f"cleaned.{ending}", *label, "--json", *QUICK).out)
    assert again["flagged"] == 0
    assert again["classes"] == 3


def test_a_cleaned_csv_lacks_the_flagged_rows_and_nothing_else(command, trained, table) -> None:
    lines = table.read_bytes().splitlines(keepends=True)
    answer = command("audit", table, "--label", "kind", "--write", "cleaned.csv", *QUICK)
    assert answer.code == 0
    assert "Cleaned copy: cleaned.csv (228 rows, 12 dropped)\n" in answer.out
    kept = [line for row, line in enumerate(lines) if row - 1 not in WRONG]
    assert Path("cleaned.csv").read_bytes() == b"".join(kept)
    assert table.read_bytes() == b"".join(lines)


def test_class_folders_of_pictures(command, photos) -> None:
    before = contents(photos)
    answer = command(
        "audit",
        photos,
        "--write",
        "kept.csv",
        "--fix",
        "relabel",
        *QUICK[:-2],
        "--network",
        "mlp",
        "--epochs",
        "20",
    )
    assert answer.code == 0
    assert contents(photos) == before
    lines = answer.out.splitlines()
    start = lines.index("The labels to look at first")
    assert lines[start + 1].split()[0] == "picture"
    assert lines[start + 2].split()[:4] == ["high/30.png", "high", "low", "&"]
    issues = pd.read_csv("audit-photos/label_issues.csv")
    flagged = issues[issues["is_label_issue"]]
    assert flagged["path"].tolist() == ["high/30.png"]
    assert flagged["predicted_label"].tolist() == ["low & wide"]
    kept = pd.read_csv("kept.csv").set_index("path")["label"]
    assert kept["high/30.png"] == "low & wide"
    assert len(kept) == 60
    page = Path("audit-photos/report.html").read_text("utf-8")
    assert 'src="data:image/png;base64,' in page
    assert "high/30.png" in page


def test_only_the_training_part_is_audited_and_that_is_told(command, photos) -> None:
    for part in ("train", "test", "val"):
        shutil.copytree(photos, f"parts/{part}")
    answer = command("audit", "parts", *QUICK, "--epochs", "2")
    assert answer.code == 0
    assert answer.err == (
        "parts: the training part (60 examples) is audited; "
        "the test part (60) and the validation part (60) are left alone.\n"
    )
    paths = pd.read_csv("audit-parts/label_issues.csv")["path"]
    assert paths.str.startswith("train/").all()
    assert len(paths) == 60


def test_pictures_that_do_not_fit_in_memory(command, photos, monkeypatch) -> None:
    monkeypatch.setattr("noiselimit.data.image_folder.STREAM_ABOVE", 0)
    answer = command("audit", photos, *QUICK, "--epochs", "2")
    assert answer.code == 0, answer.err
    assert len(pd.read_csv("audit-photos/label_issues.csv")) == 60
    assert 'src="data:image/png;base64,' in Path("audit-photos/report.html").read_text("utf-8")


def test_bad_pictures_are_an_error_or_left_out(command, photos) -> None:
    (photos / "high" / "7.png").write_bytes(b"no picture")
    refused = command("audit", photos, *QUICK, "--epochs", "2")
    assert refused.code == 2
    assert "--skip-bad-images" in refused.err
    assert not Path("audit-photos").exists()
    answer = command("audit", photos, "--skip-bad-images", *QUICK, "--epochs", "2")
    assert answer.code == 0
    assert "1 of 60 pictures are missing or damaged and were left out" in answer.err
    assert len(pd.read_csv("audit-photos/label_issues.csv")) == 59


def test_missing_labels_are_listed_and_the_rest_is_audited(command, tmp_path) -> None:
    frame = animals()
    frame.loc[[0, 17, 100], "kind"] = None
    frame.to_csv("animals.csv", index=False)
    answer = command("audit", "animals.csv", "--label", "kind", "--write", "cleaned.csv", *QUICK)
    assert answer.code == 0
    assert "3 examples have no label and were not audited: rows 0, 17, 100.\n" in answer.out
    assert "of 237 labels" in answer.out
    issues = pd.read_parquet("audit-animals/label_issues.parquet")
    rest = issues.iloc[[0, 17, 100]]
    assert rest[["given_label", "label_quality", "gap"]].isna().all(axis=None)
    assert not rest["is_label_issue"].any()
    assert rest["predicted_label"].tolist() == right_names()[[0, 17, 100]].tolist()
    assert len(issues) == len(np.load("audit-animals/pred_probs.npy")) == ROWS
    assert pd.read_csv("cleaned.csv")["kind"].isna().sum() == 3
    found = json.loads(
        command("audit", "animals.csv", "--label", "kind", "--overwrite", "--json", *QUICK).out
    )
    assert found["missing_labels"] == [0, 17, 100]


@pytest.mark.parametrize(
    ("rule", "flagged", "words"),
    [
        (("--budget", "5"), 5, "5 labels are flagged, as --budget 5 asks, from a gap of "),
        (("--expect-noise", "0.1"), 24, "24 labels are flagged, as --expect-noise 0.1 asks, "),
        (("--min-quality", "0"), 0, "No label is flagged, as --min-quality 0 asks."),
        (("--min-quality", "1"), 240, "240 labels are flagged, as --min-quality 1 asks, "),
        (("--budget", "0"), 0, "No label is flagged, as --budget 0 asks."),
    ],
)
def test_people_may_say_how_many_to_flag(command, trained, table, rule, flagged, words) -> None:
    answer = command("audit", table, "--label", "kind", *rule, *QUICK)
    assert answer.code == 0
    assert answer.out.splitlines()[0].startswith("About 12 of 240 labels")
    assert answer.out.splitlines()[1].startswith(words)
    issues = pd.read_csv("audit-animals/label_issues.csv")
    assert issues["is_label_issue"].sum() == flagged
    # Where the list of the worst holds both kinds, it says which are flagged.
    assert ("flagged\n" in answer.out) == (flagged == 5)
    assert words.split(",")[1].strip(" .") in Path("audit-animals/report.html").read_text("utf-8")


def test_with_noise_the_noisy_labels_are_audited(command) -> None:
    answer = command("audit", "digits", "--noise", "uniform:0.3", "--seed", "2", *QUICK, "--epochs", "3")
    assert answer.code == 0
    assert "noise uniform:0.3 was added to the labels (seed 2)" in answer.err
    assert "; AUROC of the gap 0.9" in answer.out
    from noiselimit import UniformNoise, load_data

    clean = load_data("digits").examples
    noisy = UniformNoise(0.3).apply(clean, 2).labels
    issues = pd.read_parquet("audit-digits/label_issues.parquet")
    assert issues["given_label"].tolist() == [str(label) for label in noisy]
    wrong = int((noisy != clean.labels).sum())
    assert f"By the clean labels {wrong} are wrong; " in answer.out
    page = Path("audit-digits/report.html").read_text("utf-8")
    assert "noise uniform:0.3 was added" in page
    assert "suggestion right" in page


def test_given_labels_of_a_label_set_are_audited(command, tmp_path, blobs) -> None:
    labels = blobs.examples.labels
    others = np.where(np.arange(151) % 10 == 0, (labels + 1) % 3, labels)
    np.savez("blobs.npz", inputs=blobs.examples.inputs, labels=labels, labels_worst=others)
    found = json.loads(command("audit", "blobs.npz", "--noise", "given:worst", "--json", *QUICK).out)
    assert found["known"]["wrong"] == 16
    assert pd.read_csv("audit-blobs/label_issues.csv")["given_label"].tolist() == others.tolist()


def test_a_column_of_clean_labels_says_how_right_it_is(command, trained, table) -> None:
    frame = animals()
    frame["truth"] = right_names()
    frame.to_csv("known.csv", index=False)
    found = json.loads(
        command("audit", "known.csv", "--label", "kind", "--clean-label", "truth", "--json", *QUICK).out
    )
    assert found["known"] == {"wrong": 12, "found": 12, "gap_auc": 1.0}


def test_a_class_of_one_is_audited_with_a_note(command, tmp_path) -> None:
    frame = animals()
    frame.loc[9, "kind"] = "yeti"
    frame.to_csv("animals.csv", index=False)
    answer = command("audit", "animals.csv", "--label", "kind", *QUICK)
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert "a single example ('yeti' in row 9)" in answer.err
    assert "yeti" in Path("audit-animals/report.html").read_text("utf-8")


def test_an_audit_that_learned_nothing_says_so(command, tmp_path) -> None:
    generator = np.random.default_rng(0)
    np.savez("dice.npz", inputs=generator.normal(size=(200, 3)), labels=generator.integers(0, 4, 200))
    audit = ("audit", "dice.npz", *QUICK, "--epochs", "4", "--overwrite")
    answer = command(*audit)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "How many labels are wrong cannot be told."
    assert "learned next to nothing" in lines[1]
    assert "a lower --learning-rate such as 0.0003" in lines[1]
    assert lines[2] == "No label is flagged; --budget N flags the N worst all the same."
    assert "Classes that are often mistaken" not in answer.out
    assert not pd.read_csv("audit-dice/label_issues.csv")["is_label_issue"].any()
    page = Path("audit-dice/report.html").read_text("utf-8")
    assert '<p class="warning">The networks agree with' in page
    assert "How the number came about" not in page
    assert 'id="confusions"' not in page
    found = json.loads(command(*audit, "--json").out)
    assert found["warning"] == lines[1]
    assert [found[name] for name in ("wrong_labels", "wrong_share", "interval")] == [None] * 3
    assert (found["flagged"], found["gap_threshold"], found["confusions"]) == (0, None, [])
    insisted = json.loads(command(*audit, "--json", "--budget", "9").out)
    assert (insisted["flagged"], insisted["wrong_labels"]) == (9, None)
    assert insisted["warning"] == lines[1]


def test_no_cleaned_copy_is_made_of_what_was_not_learned_unless_somebody_insists(command, tmp_path) -> None:
    generator = np.random.default_rng(0)
    np.savez("dice.npz", inputs=generator.normal(size=(200, 3)), labels=generator.integers(0, 4, 200))
    audit = ("audit", "dice.npz", *QUICK, "--epochs", "4", "--overwrite", "--write", "copy.npz")
    refused = command(*audit)
    assert refused.code == 2
    assert refused.err.startswith("noiselimit: copy.npz: no cleaned copy was written, because the audit ")
    assert refused.err.endswith("insist with --budget, --expect-noise or --min-quality.\n")
    assert not Path("copy.npz").exists()
    assert {path.name for path in Path("audit-dice").iterdir()} == FILES  # to look at
    assert command(*audit, "--expect-noise", "0.1").code == 0
    assert len(np.load("copy.npz")["labels"]) == 180


def test_memorised_labels_are_told_of(command, fitted, table, monkeypatch) -> None:
    told = replace(fitted, diagnosis=Diagnosis(note="They were learned by heart."))
    monkeypatch.setattr("noiselimit.audit.fit.fit", lambda data, plan, **how: told)
    answer = command("audit", table, "--label", "kind", *QUICK)
    lines = answer.out.splitlines()
    assert lines[0].startswith("About 12 of 240 labels")
    assert lines[1].startswith("12 labels are flagged")
    assert lines[2] == "They were learned by heart."
    assert "They were learned by heart." in Path("audit-animals/report.html").read_text("utf-8")
    found = json.loads(command("audit", table, "--label", "kind", *QUICK, "--overwrite", "--json").out)
    assert (found["note"], found["warning"], found["flagged"]) == (lines[2], None, 12)


def test_options_may_come_from_a_file(command, trained, table) -> None:
    Path("audit.toml").write_text(
        f'data = "{table}"\nlabel = "kind"\nbudget = 7\nout = "there"\nquiet = true\n'
    )
    answer = command("audit", "--config", "audit.toml")
    assert answer.code == 0, answer.err
    assert "7 labels are flagged, as --budget 7 asks" in answer.out
    answer = command("audit", "--config", "audit.toml", "--budget", "3", "--out", "elsewhere")
    assert "3 labels are flagged, as --budget 3 asks" in answer.out
    assert Path("elsewhere/report.html").exists()


def test_an_older_audit_is_replaced_only_when_asked(command, trained, table) -> None:
    audit = ("audit", table, "--label", "kind", *QUICK)
    assert command(*audit, "--budget", "1").code == 0
    before = contents(Path("audit-animals"))
    refused = command(*audit, "--budget", "2")
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert contents(Path("audit-animals")) == before
    assert command(*audit, "--budget", "2", "--overwrite").code == 0
    assert contents(Path("audit-animals")).keys() == before.keys()
    assert contents(Path("audit-animals")) != before
    shutil.copy(table, "audit-animals/mine.csv")
    assert "mine.csv, which no audit wrote" in command(*audit, "--overwrite").err


def test_ctrl_c_writes_nothing_and_says_so(command, table, monkeypatch) -> None:
    def interrupted(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("noiselimit.audit.fit.audit_data", interrupted)
    answer = command("audit", table, "--label", "kind", *QUICK)
    assert answer.code == 130
    assert answer.err.startswith(
        "noiselimit: interrupted; no audit was written, and the same command begins anew:\nnoiselimit audit "
    )
    assert sorted(path.name for path in Path().iterdir()) == ["animals.csv"]


def test_a_failed_run_is_told_and_the_code_is_1(command, fitted, table, monkeypatch) -> None:
    metrics = {**fitted.runs[1].metrics, "failure": "its loss was not finite: lower the learning rate"}
    failed = replace(fitted.runs[1], metrics={**metrics, "status": "failed"}, in_memory=None)
    partly = AuditFit(fitted.pred_probs, [fitted.runs[0], failed], [True, False])
    monkeypatch.setattr("noiselimit.audit.fit.fit", lambda data, plan, **how: partly)
    answer = command("audit", table, "--label", "kind", *QUICK)
    assert answer.code == 1
    assert answer.err == "failed: β 10, seed 0: its loss was not finite: lower the learning rate.\n"
    assert Path("audit-animals/report.html").exists()
