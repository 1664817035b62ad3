"""DataFrames with labels, and CSV, TSV and Parquet files."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from noiselimit.data.catalogue import load_data, load_unlabelled
from noiselimit.data.columns import Categorical, Numeric
from noiselimit.data.reading import Reading
from noiselimit.data.table_file import frame_data_set, read_table_file, read_table_inputs
from noiselimit.data.tables import Table
from noiselimit.errors import InputError

FRAME = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "c": list("aabbaa")})
ROWS = "size,colour,label\n1,grün,2\n2.5,,1\n-3,blau,10\n4,blau,2\n5,grün,1\n"
TABLE = Table((Numeric("size"), Categorical("colour", ("", "blau", "grün"))))
FEATURES = [[1, 0, 0, 1], [2.5, 1, 0, 0], [-3, 0, 1, 0], [4, 0, 1, 0], [5, 0, 0, 1]]


@pytest.mark.parametrize(
    ("labels", "names", "encoded"),
    [
        ([2, 10, 1, 1, 2, 10], ("1", "2", "10"), [1, 2, 0, 0, 1, 2]),
        ([-1, 1, -1, 1, -1, 1], ("-1", "1"), [0, 1, 0, 1, 0, 1]),
        ([1.0, 3.0, 1.0, 3.0, 3.0, 1.0], ("1", "3"), [0, 1, 0, 1, 1, 0]),
        (list("uvuvuü"), ("u", "v", "ü"), [0, 1, 0, 1, 0, 2]),
        ([True, False] * 3, ("False", "True"), [1, 0] * 3),
        (pd.Categorical(["no", "yes"] * 3), ("no", "yes"), [0, 1] * 3),
        (pd.Series(list("xyxyxy"), index=[5, 4, 3, 2, 1, 0]), ("x", "y"), [0, 1, 0, 1, 0, 1]),
    ],
)
def test_classes_are_the_distinct_labels_in_order(labels, names, encoded):
    data = frame_data_set(FRAME, labels)
    assert data.examples.class_names == names
    assert data.examples.labels.tolist() == encoded
    assert data.table is not None
    assert np.array_equal(data.examples.inputs, data.table.encode(FRAME))


def test_clean_labels_and_weights():
    clean = ["1", "2", "2", "2", "1", "1"]
    examples = frame_data_set(
        FRAME, [1, 2, 1, 2, 1, 2], clean_labels=clean, weights=[0, 1, 2, 3, 4, 5]
    ).examples
    assert examples.clean_labels is not None
    assert examples.clean_labels.tolist() == [0, 1, 1, 1, 0, 0]
    assert examples.weights is not None
    assert examples.weights.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_fingerprint_covers_the_names_of_columns():
    labels = [0, 1, 0, 1, 0, 1]
    first, same = frame_data_set(FRAME, labels), frame_data_set(FRAME.copy(), labels, name="other")
    renamed = frame_data_set(FRAME.rename(columns={"x": "z"}), labels)
    assert first.fingerprint == same.fingerprint != renamed.fingerprint


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"labels": [0, 1, 0]}, "3 labels"),
        ({"labels": [5, 6, 7, 8, 9, 10]}, "6 different values"),
        ({"labels": [1, 1, None, 2, 2, 2]}, "row 2"),
        ({"labels": ["a", "", "b", "a", "a", "b"]}, "row 1"),
        ({"labels": [1, 2, 1, 0.5, 2, 1]}, "0.5.*row 3"),
        ({"labels": [1, 2, 1, np.inf, 2, 1]}, "inf.*row 3"),
        ({"labels": pd.to_datetime(["2020-01-01"] * 6)}, "dates"),
        ({"clean_labels": [0, 1, 0, 1, 7, 8]}, "clean label in row 4 is 7"),
        ({"clean_labels": [0, 1]}, "2 clean labels"),
        ({"weights": [1, 2, 3, 4, 5, "x"]}, "row 5"),
        ({"weights": [1, 2, 3, 4, 5, -1]}, "row 5"),
    ],
)
def test_bad_labels_and_weights(arguments, word):
    with pytest.raises(InputError, match=rf"^t\.csv: .*{word}"):
        frame_data_set(FRAME, **{"labels": [0, 1, 0, 1, 0, 1], "source": "t.csv", **arguments})


def test_more_classes_than_half_of_many_rows():
    frame = pd.DataFrame({"x": np.arange(30) % 7})
    with pytest.raises(InputError, match="20 different values"):
        frame_data_set(frame, np.arange(30) % 20)
    assert frame_data_set(frame, np.arange(30) % 15).examples.classes == 15


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def put(content, name="toys.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def parquet(frame: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


PARSED = pd.read_csv(io.StringIO(ROWS))


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ROWS, "toys.csv"),
        ("\ufeff" + ROWS, "toys.csv"),
        (ROWS.replace("\n", "\r\n"), "toys.csv"),
        (ROWS.replace(",", ";"), "toys.csv"),
        (ROWS.replace(",", "\t"), "toys.csv"),
        (ROWS.replace(",", "|"), "toys.csv"),
        (ROWS.replace("\n", ",,\n"), "toys.csv"),
        (ROWS.replace(",", "\t"), "toys.tsv"),
        ("\n" + ROWS, "toys.csv"),
        ('"size","colour","label"\n' + ROWS.partition("\n")[2], "toys.csv"),
        (parquet(PARSED), "toys.parquet"),
        (parquet(PARSED.set_index(pd.Index(list("vwxyz")))), "toys.parquet"),
        (parquet(PARSED.astype({"colour": "category"})), "toys.parquet"),
    ],
)
def test_every_form_of_one_table(write, content, name):
    path = write(content, name)
    data = load_data(path)
    assert (data.name, data.test, data.table) == ("toys", None, TABLE)
    assert data.examples.inputs.tolist() == FEATURES
    assert data.examples.class_names == ("1", "2", "10")
    assert data.examples.labels.tolist() == [1, 0, 2, 1, 0]
    assert load_unlabelled(path, table=data.table).inputs.tolist() == FEATURES


def test_columns_of_other_names(write):
    path = write("a,clean_label,w,y\n1,u,1,v\n2,u,2,u\n3,v,0.5,u\n4,v,1,v\n")
    data = read_table_file(path, Reading(label="y", weight="w"))
    assert data.table == Table((Numeric("a"),))
    assert data.examples.clean_labels.tolist() == [0, 0, 1, 1]
    assert data.examples.weights.tolist() == [1, 2, 0.5, 1]
    swapped = read_table_file(path, Reading(label="clean_label", clean_label="y"))
    assert swapped.examples.clean_labels.tolist() == [1, 0, 0, 1]
    assert swapped.table == Table((Numeric("a"), Numeric("w")))


def test_ignored_columns(write):
    path = write("id,a,clean_label,when,y\n7,1,u,2020-01-01,v\n8,2,u,2020-01-02,u\n9,3,v,2020-01-03,u\n")
    data = read_table_file(path, Reading(label="y", ignore=("when", "clean_label", "id")))
    assert data.table == Table((Numeric("a"),))
    assert data.examples.clean_labels is None
    (note,) = data.notes
    assert "'id', 'clean_label', 'when'" in note
    assert read_table_inputs(path, False, data.table)[0].tolist() == [[1], [2], [3]]


def test_suspicious_columns_are_noted(write):
    rows = "".join(f"{row},{row % 7},{row % 2},{row % 2}\n" for row in range(40))
    path = write("id,a,code,label\n" + rows)
    data = read_table_file(path)
    identifying, telling = data.notes
    assert "'id'" in identifying
    assert "'code'" in telling
    assert data.examples.kept["id_id"].tolist() == list(range(40))
    assert load_unlabelled(path, table=data.table).kept["id_id"].tolist() == list(range(40))
    assert len(read_table_file(path, Reading(ignore=("id", "code"))).notes) == 1


def test_quoted_separators_and_lines(write):
    path = write('"a;b;c;d",x,label\n"1","p,\nq",0\n2,r,1\n3,r,0\n')
    data = read_table_file(path)
    assert data.table == Table((Numeric("a;b;c;d"), Categorical("x", ("p,\nq", "r"))))


def test_names_keep_their_spelling(write):
    data = read_table_file(write("code,flag,label\n01,true,0\nA1,True,1\n1,NA,0\n01,,1\n"))
    codes, flags = data.table.columns
    assert codes.categories == ("01", "1", "A1")
    assert {"true", "True"} < set(flags.categories)
    new, _ = read_table_inputs(write("code,flag\n01,true\n1,True\n", "new.csv"), False, data.table)
    assert new[:, :3].tolist() == [[1, 0, 0], [0, 1, 0]]


def test_blanks_around_labels_make_no_further_class(write):
    data = read_table_file(write("x,label\n1,yes\n2,yes \n3, no\n4,no\n"))
    assert data.examples.class_names == ("no", "yes")
    assert data.examples.labels.tolist() == [1, 1, 0, 0]


def test_labels_that_may_be_missing_or_the_same_are_noted(write):
    absent, alike = read_table_file(write("a,label\n1,x\n2,X\n3,NA\n4,y\n5,y\n")).notes
    assert "'NA'; leave" in absent
    assert "'X', 'x'; spell" in alike
    assert read_table_file(write(ROWS)).notes == ()


def test_a_named_index_of_pandas_is_a_column_and_row_numbers_are_not(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "size": [5, 6, 7, 8], "label": ["a", "b", "a", "b"]})
    frame.to_parquet(path)
    plain = read_table_file(path)
    for index in ("age", ["age", "size"], "label"):
        frame.set_index(index).to_parquet(path)
        data = read_table_file(path)
        assert {column.name for column in data.table.columns} == {"age", "size"}
        assert data.examples.class_names == ("a", "b")
    frame.set_axis([7, 3, 9, 1]).to_parquet(path)
    assert read_table_file(path).fingerprint == plain.fingerprint
    frame.drop(columns="age").set_index(pd.RangeIndex(3, 11, 2, name="age")).to_parquet(path)
    data = read_table_file(path)
    assert data.table.columns == (Numeric("size"), Numeric("age"))
    assert data.examples.inputs[:, 1].tolist() == [3, 5, 7, 9]


@pytest.mark.parametrize(
    ("content", "reading", "word"),
    [
        (ROWS, {"label": "colur"}, "--label: .*'colur'.*'colour'"),
        ("a,b\n0,1\n1,1\n", {}, "'label'.*--label.*'a', 'b'"),
        ("label\n0\n1\n", {"clean_label": "c"}, "--clean-label: .*'c'"),
        (ROWS, {"weight": "label"}, "--label "),
        (ROWS, {"ignore": ["siz"]}, "--ignore: .*'siz'.*'size'"),
        (ROWS, {"ignore": ["label"]}, "--label and --ignore .*'label'"),
        (ROWS, {"weight": "size", "ignore": ["size"]}, "--weight and --ignore"),
        ("a,label\n1,0\n2,1\n", {"ignore": ["a"]}, "inputs"),
        ("", {}, ""),
        ("a,label\n", {}, "rows"),
        ("a,label\n", {"keep_unlabelled": True}, "rows"),
        ("label\n0\n1\n0\n", {}, "inputs"),
        ("a,label\n1,0\n2\n", {}, "Row #3"),
        ("a,label\n1,0\n2,1,5\n", {}, "Row #3"),
        (b"a,label\n\xe9,0\n2,1\n", {}, "'a' is not UTF-8.*Excel"),
        (b"a,label\n1,\xe9\n2,b\n", {}, "'label' is not UTF-8.*Excel"),
        (ROWS.encode("utf-16"), {}, ""),
        ("a,a,label\n1,2,0\n2,2,1\n", {}, "'a'"),
        (",a,label\n1,2,0\n2,2,1\n", {}, "column 0"),
        ("a,label\n1,0\n1,1\n1,0\n", {}, "constant"),
        ("a,label,w\n1,0,x\n2,1,1\n3,,1\n", {"weight": "w"}, "2 problems"),
    ],
)
def test_tables_without_usable_examples(write, content, reading, word):
    path = write(content)
    with pytest.raises(InputError, match=f"^{path}: .*{word}"):
        read_table_file(path, Reading(**reading))


@pytest.mark.parametrize("column", [[[1], [2], [3]], [{"a": 1}, {"a": 2}, {"a": 3}], [b"\xff", b"", b"x"]])
def test_parquet_columns_of_other_types(write, column):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": column, "label": [0, 1, 0]}), stream)
    with pytest.raises(InputError, match=r"toys\.parquet: .*'a'"):
        read_table_file(write(stream.getvalue(), "toys.parquet"))


def test_times_of_day_are_hours(write):
    data = read_table_file(write("t,label\n06:30:00,a\n18:15:36,b\n,a\n"))
    assert data.examples.inputs[:2, 0].tolist() == pytest.approx([6.5, 18.26])


def test_new_rows_need_no_label_and_may_have_more_columns(write):
    path = write("more,colour,size\nx,lila,7\ny,grün,8\n")
    assert read_table_inputs(path, False, TABLE)[0].tolist() == [[7, 0, 0, 0], [8, 0, 0, 1]]


@pytest.mark.parametrize(
    ("content", "arguments", "word"),
    [
        (ROWS, (False, None), "table"),
        (ROWS, (True, TABLE), "--test"),
        ("size\n1\n", (False, TABLE), "'colour'"),
        ("size,colour\n", (False, TABLE), "rows"),
        ("size,colour\nbig,grün\n", (False, TABLE), "'big' in row 0"),
        (b"size,colour\n1,\xe9\n", (False, TABLE), "UTF"),
    ],
)
def test_new_rows_that_cannot_be_encoded(write, content, arguments, word):
    path = write(content)
    with pytest.raises(InputError, match=f"^{path}: .*{word}"):
        read_table_inputs(path, *arguments)


LIST = "path,label,sure,true,old\npets/1.png,cat,1,cat,x\n../2.JPG,dog,2,cat,y\npets/3.png,dog,0,dog,z\n"
AS_LIST = Reading(weight="sure", clean_label="true", ignore=["old"])


@pytest.fixture
def pets(tmp_path):
    """Three pictures, one of them beside the folder of the list."""
    for row, name in enumerate(("lists/pets/1.png", "2.JPG", "lists/pets/3.png")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (6, 4), (10 * row,) * 3).save(tmp_path / name)
    return tmp_path / "lists"


def test_a_list_of_pictures(write, pets):
    data = load_data(write(LIST, "lists/pets.csv"), reading=AS_LIST)
    examples = data.examples
    assert examples.inputs.shape == (3, 3, 4, 6)
    assert examples.inputs[:, 0, 0, 0].tolist() == [0, 10, 20]
    assert (data.name, data.table, examples.class_names) == ("pets", None, ("cat", "dog"))
    assert (examples.labels.tolist(), examples.clean_labels.tolist()) == ([0, 1, 1], [0, 0, 1])
    assert examples.weights.tolist() == [1, 2, 0]
    assert examples.names == ["pets/1.png", "../2.JPG", "pets/3.png"]
    (pets / "pets" / "1.png").write_bytes(b"no picture")
    skipping = replace(AS_LIST, skip_bad_images=True, resize=2)
    left = load_data(write(LIST.replace("../2", str(pets.parent / "2")), "lists/pets.csv"), reading=skipping)
    assert left.examples.inputs.shape == (2, 3, 2, 2)
    assert (left.examples.labels.tolist(), left.examples.weights.tolist()) == ([1, 1], [2, 0])
    assert "1 of 3 images" in left.notes[1]


def test_a_list_may_lack_labels_in_an_audit(write, pets):
    path = write(LIST.replace("dog,2", ",2"), "lists/pets.csv")
    ignoring = replace(AS_LIST, ignore=["old", "true", "sure"], clean_label=None, weight=None)
    with pytest.raises(InputError, match="''"):
        load_data(path, reading=ignoring)
    kept = load_data(path, reading=replace(ignoring, keep_unlabelled=True))
    assert kept.examples.labels.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("old", "new", "reading", "word"),
    [
        ("3.png", "4.png", AS_LIST, "1 of 3 .*'pets/4.png' in row 2"),
        ("pets/1.png", "", AS_LIST, "'' in row 0"),
        ("pets/1.png", "pets", AS_LIST, "'pets' in row 0"),
        ("pets/1.png", "pets.csv", AS_LIST, "pets.csv"),
        ("cat,1", "hen,1", AS_LIST, "clean label .* cat"),
        ("old", "older", Reading(resize=2), "--ignore sure,true,older"),
    ],
)
def test_lists_that_cannot_be_used(write, pets, old, new, reading, word):
    with pytest.raises(InputError, match=word):
        load_data(write(LIST.replace(old, new), "lists/pets.csv"), reading=reading)


def test_paths_beside_other_columns_and_paths_as_text_are_a_table(write, pets):
    path = write(LIST.replace("../", "pets/"), "lists/pets.csv")
    data = load_data(path)
    assert data.table is not None
    assert "'path' names image files" in data.notes[0]
    words = "".join(f"a {row} b{row % 2}.png,{row % 2}\n" for row in range(30))
    assert load_data(write("path,label\n" + words), reading=Reading(text=["path"])).table is not None


def test_booleans_are_known_in_the_spelling_of_other_programs():
    flags = pd.DataFrame({"flag": [True, False, True, False], "x": [1.0, 2, 3, 5]})
    table = frame_data_set(flags, list("abab")).table
    for spelled in (["true", "false"], ["TRUE", "FALSE"], [1, 0], ["1", "0"]):
        other = flags.assign(flag=spelled * 2)
        assert (table.encode(other, "new") == table.encode(flags, "old")).all()


def test_the_index_that_pandas_writes_is_left_out(write):
    data = read_table_file(write("\n".join([",x,label", "0,3,a", "1,4,b", "2,5,a", "3,7,b"])), Reading())
    assert [column.name for column in data.table.columns] == ["x"]
