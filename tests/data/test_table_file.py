"""CSV and Parquet files, and what is said of those that hold no examples."""

import io

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.data.catalogue import load_data, load_inputs
from noiselimit.data.reading import Reading
from noiselimit.data.table_file import read_table_file, read_table_inputs
from noiselimit.data.tables import Categorical, Numeric, Table
from noiselimit.errors import InputError

ROWS = "size,colour,label\n1,grün,2\n2.5,,1\n-3,blau,10\n4,blau,2\n5,grün,1\n"
TABLE = Table((Numeric("size"), Categorical("colour", ("", "blau", "grün"))))
FEATURES = [[1, 0, 0, 1], [2.5, 1, 0, 0], [-3, 0, 1, 0], [4, 0, 1, 0], [5, 0, 0, 1]]


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def put(content, name="toys.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return put


def parquet(frame, **options):
    stream = io.BytesIO()
    frame.to_parquet(stream, **options)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ROWS, "toys.csv"),
        ("\ufeff" + ROWS, "toys.csv"),
        (ROWS.replace("\n", "\r\n"), "toys.csv"),
        (ROWS.replace(",", ";"), "toys.csv"),
        (ROWS.replace(",", "\t"), "toys.csv"),
        (ROWS.replace(",", "\t"), "toys.tsv"),
        ("\n" + ROWS, "toys.csv"),
        ('"size","colour","label"\n' + ROWS.partition("\n")[2], "toys.csv"),
        (parquet(pd.read_csv(io.StringIO(ROWS))), "toys.parquet"),
        (parquet(pd.read_csv(io.StringIO(ROWS)).set_index(pd.Index(list("vwxyz")))), "toys.parquet"),
        (parquet(pd.read_csv(io.StringIO(ROWS)).astype({"colour": "category"})), "toys.parquet"),
    ],
)
def test_every_form_of_one_table(write, content, name):
    path = write(content, name)
    data = load_data(path)
    assert data.name == "toys"
    assert data.test is None
    assert data.table == TABLE
    assert data.examples.inputs.tolist() == FEATURES
    assert data.examples.class_names == ("1", "2", "10")
    assert data.examples.labels.tolist() == [1, 0, 2, 1, 0]
    assert load_inputs(path, table=data.table).tolist() == FEATURES


def test_columns_of_other_names(write):
    path = write("a,clean_label,w,y\n1,u,1,v\n2,u,2,u\n3,v,0.5,u\n4,v,1,v\n")
    data = read_table_file(path, Reading(label="y", weight="w"))
    assert data.table == Table((Numeric("a"),))
    assert data.examples.clean_labels.tolist() == [0, 0, 1, 1]
    assert data.examples.weights.tolist() == [1, 2, 0.5, 1]
    swapped = read_table_file(path, Reading(label="clean_label", clean_label="y"))
    assert swapped.examples.clean_labels.tolist() == [1, 0, 0, 1]
    assert swapped.table == Table((Numeric("a"), Numeric("w")))


def test_columns_that_are_ignored(write):
    path = write("id,a,clean_label,when,y\n7,1,u,2020-01-01,v\n8,2,u,2020-01-02,u\n9,3,v,2020-01-03,u\n")
    data = read_table_file(path, Reading(label="y", ignore=("when", "clean_label", "id")))
    assert data.table == Table((Numeric("a"),))
    assert data.examples.clean_labels is None
    assert data.notes == (f"{path}: left out, as asked: 'id', 'clean_label', 'when'.",)
    assert read_table_inputs(path, False, data.table).tolist() == [[1], [2], [3]]


def test_columns_that_had_better_be_ignored_are_told_of(write):
    rows = "".join(f"{row},{row % 7},{row % 2},{row % 2}\n" for row in range(40))
    path = write("id,a,code,label\n" + rows)
    telling, numbering = read_table_file(path).notes
    assert telling.startswith(f"{path}: column 'code' tells the label")
    assert numbering.endswith("leave it out with --ignore id.")
    assert len(read_table_file(path, Reading(ignore=("id", "code"))).notes) == 1


def test_quoted_separators_and_lines(write):
    path = write('"a;b;c;d",x,label\n"1","p,\nq",0\n2,r,1\n3,r,0\n')
    data = read_table_file(path)
    assert data.table == Table((Numeric("a;b;c;d"), Categorical("x", ("p,\nq", "r"))))


def test_names_keep_their_spelling_whatever_else_is_in_the_column(write):
    data = read_table_file(write("code,flag,label\n01,true,0\nA1,True,1\n1,NA,0\n01,,1\n"))
    assert data.table.columns == (
        Categorical("code", ("01", "1", "A1")),
        Categorical("flag", ("", "NA", "True", "true")),
    )
    new = read_table_inputs(write("flag,code\ntrue,01\nTrue,1\n", "new.csv"), False, data.table)
    assert new.tolist() == [[1, 0, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("content", "reading", "sentence"),
    [
        (
            "a,labels\n1,0\n2,1\n",
            {},
            "there is no column 'label' but a, labels; did you mean --label labels?",
        ),
        ("a,y\n1,0\n2,1\n", {}, "there is no column 'label' but a, y; name one with --label"),
        (
            "label\n0\n1\n",
            {"clean_label": "c"},
            "there is no column 'c' but no other; name one with --clean-l",
        ),
        (ROWS, {"weight": "label"}, "--label is 'label', which another option names too; correct one"),
        (ROWS, {"ignore": ["siz"]}, "there is no column 'siz' but .*; did you mean --ignore size?"),
        (ROWS, {"ignore": ["label"]}, "--ignore names 'label', the column of --label; leave it out of --ig"),
        (
            ROWS,
            {"weight": "size", "ignore": ["size"]},
            "--ignore names 'size', the column of --weight; leave",
        ),
        ("a,label\n1,0\n2,1\n", {"ignore": ["a"]}, "--ignore leaves no column of inputs; name fewer"),
        (ROWS, {"label": "size"}, "column 'size' has 2.5 in row 1, which is no class; give whole numbers"),
        ("a,label\n1,5\n2,6\n3,7\n", {}, "column 'label' has 3 different values in 3 rows, so it holds no"),
        ("a,label\n1,0\n2,0\n", {}, "there is only one class"),
        ("", {}, r"cannot be read \(Empty CSV file\); give a table"),
        ("\n\n", {}, r"cannot be read \(.*\); give a table"),
        ("a,label\n", {}, "there are no rows; add examples"),
        ("label\n0\n1\n0\n", {}, "there is no column beside the labels; add the inputs"),
        ("a,label\n1,0\n2\n", {}, r"cannot be read \(.*Row #3: Expected 2 columns, got 1: 2\); give a table"),
        ("a,label\n1,0\n2,1,5\n", {}, r"cannot be read \(.*Row #3: Expected 2 columns, got 3: 2,1,5\)"),
        (b"a,label\n\xe9,0\n2,1\n", {}, "column 'a' is not text in UTF-8; save the file"),
        (b"\xe9,label\n1,0\n2,1\n", {}, "the column names are not in UTF-8; save the file"),
        (ROWS.encode("utf-16"), {}, ".*"),
        ("a,a,label\n1,2,0\n2,2,1\n", {}, "two columns are called 'a'; rename or remove one"),
        (",a,label\n1,2,0\n2,2,1\n", {}, "column 0 has no name; give it one or remove it"),
        ("a,label\n1,0\ninf,1\n2,0\n", {}, "column 'a' is inf in row 1, beyond the range"),
        ("a,label\n1,0\n,1\n2,0\n", {}, "column 'a' has no number in row 1; fill it in"),
        ("a,label\n2020-01-01,0\n2020-01-02,1\n2020-01-02,1\n", {}, "column 'a' holds dates or times"),
        ("a,label\n1,0\n1,\n2,1\n", {}, "column 'label' has no label in row 1; fill it in"),
        ("a,label\n1,0.5\n1,1\n2,1\n", {}, "column 'label' has 0.5 in row 0, which is no class"),
    ],
)
def test_tables_that_hold_no_examples(write, content, reading, sentence):
    path = write(content)
    with pytest.raises(InputError, match=f"^{path}: {sentence}"):
        read_table_file(path, Reading(**reading))


@pytest.mark.parametrize("name", ["toys.csv", "toys.tsv", "toys.parquet"])
def test_what_is_no_file(tmp_path, name):
    (tmp_path / name).mkdir()
    for path in (tmp_path / name, tmp_path / f"absent-{name}"):
        with pytest.raises(InputError, match=rf"^{path}: cannot be read \(.*\); give"):
            read_table_file(path)
    with pytest.raises(InputError, match=str(tmp_path / name)):
        load_data(tmp_path / name)


@pytest.mark.parametrize(
    "column",
    [
        [[1], [2], [3]],
        [{"a": 1}, {"a": 2}, {"a": 3}],
        [b"\xff", b"", b"x"],
        pyarrow.array([1, 2, 3], pyarrow.duration("s")),
    ],
)
def test_parquet_columns_of_other_types(write, column):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": column, "label": [0, 1, 0]}), stream)
    path = write(stream.getvalue(), "toys.parquet")
    with pytest.raises(InputError, match=f"^{path}: column 'a' "):
        read_table_file(path)


def test_a_folder_name_does_not_become_a_column(tmp_path):
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "toys.parquet"
    path.write_bytes(parquet(pd.DataFrame({"a": [1, 2, 3], "label": [0, 1, 0]})))
    assert read_table_file(path).table == Table((Numeric("a"),))


def test_new_rows_need_no_label_and_may_have_more_columns(write):
    path = write("more,colour,size\nx,lila,7\ny,grün,8\n")
    assert read_table_inputs(path, False, TABLE).tolist() == [[7, 0, 0, 0], [8, 0, 0, 1]]


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (ROWS, (False, None), "the run was not trained on a table with named columns"),
        (ROWS, (True, TABLE), "a table has no test part; leave out --test"),
        ("size\n1\n", (False, TABLE), "there is no column 'colour', which the training data had"),
        ("size,colour\n", (False, TABLE), "there are no rows; add some"),
        ("size,colour\nbig,grün\n", (False, TABLE), "column 'size' holds 'big' in row 0; give a number"),
        (b"size,colour\n1,\xe9\n", (False, TABLE), r"cannot be read \(.*invalid UTF8 data\)"),
    ],
)
def test_new_rows_that_cannot_be_encoded(write, content, arguments, sentence):
    path = write(content)
    with pytest.raises(InputError, match=f"^{path}: {sentence}"):
        read_table_inputs(path, *arguments)


@given(data=st.data(), cut=st.booleans(), kind=st.sampled_from(["csv", "parquet"]))
def test_damaged_files_get_a_sentence_or_are_read(tmp_path_factory, data, cut, kind):
    frame = pd.read_csv(io.StringIO(ROWS))
    content = bytearray(ROWS.encode() if kind == "csv" else parquet(frame))
    place = data.draw(st.integers(0, len(content) - 1))
    if cut:
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / f"damaged.{kind}"
    path.write_bytes(content)
    try:
        examples = read_table_file(path).examples
    except InputError:
        return
    assert np.isfinite(examples.inputs).all()


def test_a_named_index_of_pandas_is_a_column_and_row_numbers_are_none(tmp_path):
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "size": [5, 6, 7, 8], "label": ["a", "b", "a", "b"]})
    plain = read_table_file(_saved(frame, tmp_path / "plain.parquet"))
    for indexed in (
        frame.set_index("age"),
        frame[::-1].set_index(["age", "size"])[::-1],
        frame.set_index("label"),
    ):
        data = read_table_file(_saved(indexed, tmp_path / "indexed.PARQUET"))
        assert set(data.table.feature_names) == {"age", "size"}
        assert data.examples.class_names == ("a", "b")
    numbered = frame.sample(frac=1, random_state=0).sort_values("age").set_axis([7, 3, 9, 1])
    assert read_table_file(_saved(numbered, tmp_path / "numbered.parquet")).fingerprint == plain.fingerprint


def _saved(frame, path):
    frame.to_parquet(path)
    return path


def test_blanks_around_labels_make_no_further_class(write):
    data = read_table_file(write("x,label\n1,yes\n2,yes \n3, no\n4,no\n"))
    assert data.examples.class_names == ("no", "yes")
    assert data.examples.labels.tolist() == [1, 1, 0, 0]
    with pytest.raises(InputError, match="column 'label' has no label in row 1"):
        read_table_file(write("x,label\n1,yes\n2,  \n3,no\n4,no\n"))


def test_weights_that_are_text(write):
    with pytest.raises(InputError, match=r"column 'w' holds 'much' in row 1; give a number\.$"):
        read_table_file(write("x,label,w\n1,a,1\n2,b,much\n3,a,2\n"), Reading(weight="w"))


def test_a_named_index_of_consecutive_numbers_keeps_its_values(tmp_path):
    frame = pd.DataFrame({"size": [5, 6, 7, 8], "label": list("abab")}, pd.RangeIndex(3, 11, 2, name="age"))
    data = read_table_file(_saved(frame, tmp_path / "indexed.parquet"))
    assert data.table.feature_names == ("size", "age")
    assert data.examples.inputs[:, 1].tolist() == [3, 5, 7, 9]


@pytest.mark.parametrize("label", ["{}", "name {}"])
def test_as_many_classes_as_rows_are_told_at_once(tmp_path, label):
    """Looking each up among all others would take minutes."""
    path = tmp_path / "t.csv"
    path.write_text("x,label\n" + "".join(f"1,{label.format(row)}\n" for row in range(100_000)))
    with pytest.raises(InputError, match="100000 different values in 100000 rows"):
        read_table_file(path)
