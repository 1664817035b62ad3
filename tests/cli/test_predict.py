"""noiselimit predict: a row for every example, with or without labels in the data."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from benchmarks.scale import Messy, make_messy
from noiselimit import load_data, load_run
from noiselimit.data.reading import Reading
from noiselimit.runs.run import choose


@pytest.mark.parametrize("name", ["predictions.csv", "below/predictions.parquet"])
def test_predictions_are_those_of_the_run(command, one_run, tmp_path, write_table, name):
    data = write_table(tmp_path / "inputs.npz", labels=None)
    answer = command("predict", one_run, data, "--out", name, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out) == {"predictions": name, "examples": 60}
    table = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    expected = load_run(one_run).predict_proba(np.load(data)["inputs"])
    assert list(table.columns[:4]) == ["index", "predicted_label", "predicted_class", "probability"]
    np.testing.assert_allclose(table.iloc[:, 4:], expected, rtol=1e-5, atol=1e-7)
    assert table["index"].tolist() == list(range(60))
    assert table["predicted_label"].tolist() == expected.argmax(1).tolist()
    assert table["predicted_class"].astype(int).tolist() == expected.argmax(1).tolist()
    np.testing.assert_allclose(table["probability"], expected.max(1), rtol=1e-6)


def test_a_table_from_training_to_new_rows(command, tmp_path):
    lines = [f"{number % 9},{'rot' if number % 2 else 'grün'},{number % 2 + 1}" for number in range(40)]
    (tmp_path / "old.csv").write_text("\n".join(["size,colour,class", *lines]), "utf-8")
    (tmp_path / "new.csv").write_text("colour;size\nrot;3\ngrün;4\nlila;5\n", "utf-8")
    options = ["--label", "class", "--method", "ce", "--epochs", "2", "--quiet"]
    assert command("train", "--data", "old.csv", *options).code == 0
    run = next((tmp_path / "runs").glob("ce*"))
    assert command("predict", run, "new.csv").code == 0
    assert len(pd.read_csv("predictions.csv")) == 3
    assert set(pd.read_csv("predictions.csv")["predicted_class"]) <= {1, 2}


@pytest.mark.filterwarnings("default::noiselimit.errors.Notice")
def test_new_rows_of_a_messy_table(command, tmp_path):
    make_messy(Messy(400, 200), Path("messy.csv"))
    frame = pd.read_csv("messy.csv")
    frame.to_csv("old.csv", index=False)
    assert command("train", "--data", "old.csv", "--method", "ce", "--epochs", "2", "--quiet").code == 0
    run = next((tmp_path / "runs").glob("ce*"))
    new = frame.drop(columns=["label", "country"])[:6].astype(object)
    new.iloc[0, 2:] = None  # everything is missing, also where nothing was in training
    new.loc[1, ["signup", "seen", "city", "member", "income"]] = ["soon", "2030-01-01", "Ω", "maybe", "none"]
    new.to_csv("new.csv", index=False)
    answer = command("predict", run, "new.csv")
    assert answer.code == 0
    assert "'signup': 1 of 6" in answer.err
    found = pd.read_csv("predictions.csv")
    assert found["id_customer"].tolist() == new["customer"].tolist()
    assert found["probability"].notna().all()
    same = load_run(run).predict_proba(new.drop(columns="order"))
    np.testing.assert_allclose(found["probability"], same.max(1), rtol=1e-6)


def test_the_star_of_a_folder_of_runs_and_the_runs_of_an_audit_predict_texts(command, tmp_path):
    words = np.random.default_rng(0).choice(["fine weather", "heavy rain"], (60, 3))
    texts = [" and ".join(row) for row in words]
    labels = ["sun" if row[0] == "fine weather" else "rain" for row in words]
    pd.DataFrame({"say": texts, "label": labels}).assign(id=range(60)).to_csv("old.csv", index=False)
    options = ("--text", "say", "--features", "tf-idf", "--quiet")
    train = ("train", "--data", "old.csv", "--method", "ce,mae", "--epochs", "3", *options)
    assert command(*train).code == 0
    assert command("audit", "old.csv", "--fast", "--epochs", "4", *options).code == 0
    for folder, star in (("runs", load_starred("runs")), ("audit-old", None)):
        assert command("predict", folder, "old.csv", "--overwrite").code == 0
        found = pd.read_csv("predictions.csv")
        assert (found["text_say"].tolist(), found["id_id"].tolist()) == (texts, list(range(60)))
        if star is not None:
            same = star.predict_proba(pd.DataFrame({"say": texts}))
            np.testing.assert_allclose(found[["probability_rain", "probability_sun"]], same, atol=1e-6)


def load_starred(folder):
    runs = [load_run(path.parent) for path in sorted(Path(folder).glob("*/spec.json"))]
    return next(run for run, starred in zip(runs, choose(runs), strict=True) if starred)


@pytest.fixture
def picture_run(command, tmp_path):
    """A run on twenty pictures of several sizes in `pictures`, brought to 8 × 8 pixels."""
    for number in range(20):
        folder = tmp_path / "pictures" / ("dark" if number % 2 else "light")
        folder.mkdir(parents=True, exist_ok=True)
        shade = (20 if number % 2 else 220) + number
        Image.new("L", (9 + number % 3, 8), shade).save(folder / f"{number:02}.png")
    options = ["--resize", "8", "--method", "ce", "--epochs", "1", "--quiet"]
    assert command("train", "--data", "pictures", *options).code == 0
    return next((tmp_path / "runs").glob("ce*"))


def test_pictures_from_files_keep_their_names(command, tmp_path, picture_run):
    (tmp_path / "pictures" / "dark" / "01.png").write_bytes(b"no picture")
    assert command("predict", picture_run, "pictures", "--resize", "8").code == 2
    answer = command("predict", picture_run, "pictures", "--resize", "8", "--skip-bad-images")
    assert answer.code == 0
    assert "01.png" in answer.err
    table = pd.read_csv("predictions.csv")
    assert list(table.columns[:5]) == ["index", "name", "predicted_label", "predicted_class", "probability"]
    assert list(table.columns[5:]) == ["probability_dark", "probability_light"]
    assert table["name"][0].endswith("03.png")
    assert table["name"].nunique() == 19


def test_new_pictures_need_no_classes_and_no_size(command, tmp_path, picture_run):
    (tmp_path / "new").mkdir()
    Image.new("RGB", (50, 40), (230, 230, 230)).save(tmp_path / "new" / "b.jpg")
    Image.new("L", (8, 8), 30).save(tmp_path / "new" / "a.png")
    answer = command("predict", picture_run, "new")
    assert (answer.code, answer.err) == (0, "")
    both = pd.read_csv("predictions.csv")
    assert both["name"].tolist() == ["a.png", "b.jpg"]
    assert command("predict", picture_run, "new/b.jpg", "--overwrite").code == 0
    alone = pd.read_csv("predictions.csv")
    assert alone["probability"][0] == pytest.approx(both["probability"][1], abs=1e-6)
    assert command("predict", picture_run, "new/*.jpg", "new", "--overwrite").code == 0
    together = pd.read_csv("predictions.csv")
    assert together[["file", "name"]].values.tolist() == [
        ["new/b.jpg", "b.jpg"],
        ["new", "a.png"],
        ["new", "b.jpg"],
    ]


def test_a_list_of_pictures(command, tmp_path, picture_run):
    (tmp_path / "list.csv").write_text("row,file\n0,pictures/dark/01.png\n1,pictures/light/00.png\n")
    assert command("predict", picture_run, "list.csv").code == 0
    found = pd.read_csv("predictions.csv")
    assert found["name"].tolist() == ["pictures/dark/01.png", "pictures/light/00.png"]
    (tmp_path / "list.csv").write_text("row,file\n0,pictures/dark/00.png\n")
    answer = command("predict", picture_run, "list.csv", "--overwrite")
    assert (answer.code, "missing" in answer.err) == (2, True)
    (tmp_path / "list.csv").write_text("row,file\n0,dark\n")
    answer = command("predict", picture_run, "list.csv", "--overwrite")
    assert (answer.code, "no column" in answer.err) == (2, True)


def test_the_picture_files_of_training_are_cut_as_in_training(command, picture_run):
    command("predict", picture_run, "pictures")
    found = pd.read_csv("predictions.csv")["probability"]
    inputs = load_data("pictures", reading=Reading(resize=8)).examples.inputs
    np.testing.assert_allclose(found, load_run(picture_run).predict_proba(inputs).max(1), rtol=1e-5)


def test_several_files_and_a_pattern_make_one_table(command, one_run, write_table):
    names = ["a.npz", "new-1.npz", "new-2.npz"]
    for place, name in enumerate(names):
        inputs = np.random.default_rng(place).normal(size=(place + 2, 5)).astype(np.float32)
        write_table(Path(name), inputs=inputs, labels=None)
    answer = command("predict", one_run, "a.npz", "new-*.npz", "a.npz")
    assert (answer.code, answer.err) == (0, "")
    table = pd.read_csv("predictions.csv")
    assert list(table.columns[:3]) == ["file", "index", "predicted_label"]
    assert table["file"].tolist() == [name for place, name in enumerate(names) for _ in range(place + 2)]
    assert table["index"].tolist() == [0, 1, 0, 1, 2, 0, 1, 2, 3]
    expected = load_run(one_run).predict_proba(np.load("new-2.npz")["inputs"])
    np.testing.assert_allclose(table.iloc[-4:, 5:], expected, rtol=1e-5, atol=1e-7)
    assert command("predict", one_run, "a.npz", "none-*.npz", "--out", "p.csv").code == 2
    assert not Path("p.csv").exists()
