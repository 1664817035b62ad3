"""Every mistake in an audit: one sentence with the remedy, exit code 2, nothing written, nothing changed.

The list is tested in tests/bad_input, together with others.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

Prepare = Callable[[], object]
AUDIT = ("audit", "t.csv", "--quiet", "--epochs", "1", "--fast")


def frame(rows: int = 40) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(rows, 2))
    return pd.DataFrame({"x": numbers[:, 0], "y": numbers[:, 1], "label": np.arange(rows) % 2})


def table(**changes: object) -> Prepare:
    """Columns of t.csv replaced, or left out where None."""

    def write() -> None:
        changed = frame().assign(**{name: value for name, value in changes.items() if value is not None})
        left_out = [name for name, value in changes.items() if value is None]
        changed.drop(columns=left_out).to_csv("t.csv", index=False)

    return write


def folder(name: str, content: str = "") -> Prepare:
    """A folder that somebody else has made, with a file in it if it has content."""

    def write() -> None:
        table()()
        Path(name).mkdir()
        if content:
            Path(name, "notes.txt").write_text(content)

    return write


def both(*several: Prepare) -> Prepare:
    def write() -> None:
        for one in several:
            one()

    return write


def file(name: str) -> Prepare:
    def write() -> None:
        table()()
        Path(name).write_text("mine")

    return write


def photos(bad: bytes | None = None) -> Prepare:
    def write() -> None:
        for row in range(12):
            place = Path("photos", "ab"[row % 2])
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((4, 4), 9 * row, np.uint8)).save(place / f"{row}.png")
        if bad is not None:
            Path("photos/a/0.png").write_bytes(bad)

    return write


def idx() -> None:
    Path("idx").mkdir()
    header = bytes([0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2])
    Path("idx/train-images-idx3-ubyte").write_bytes(header + bytes(16))
    Path("idx/train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 0, 1]))


WORDS = [f"a remark of its own, number {row}, with so many words" for row in range(40)]
PHOTOS = ("audit", "photos", "--quiet", "--fast")
CASES = [
    ("no label column", table(label=None), AUDIT, ("t.csv", "no column 'label'", "--label")),
    (
        "another label column",
        table(),
        (*AUDIT, "--label", "lable"),
        ("'lable'", "did you mean --label label?"),
    ),
    ("one class", table(label="same"), AUDIT, ("t.csv", "only one class", "at least two")),
    ("identifiers", table(label=np.arange(40)), AUDIT, ("t.csv", "40 different values", "another column")),
    ("many classes", table(label=np.arange(40) % 9), AUDIT, ("9 classes for 40 labels", "--many-classes")),
    ("all labels missing", table(label=[None] * 40), AUDIT, ("t.csv", "label", ";")),
    ("text", table(remark=WORDS), AUDIT, ("t.csv", "column 'remark'", ";")),
    ("no such data", table(), ("audit", "other.csv"), ("other.csv", "no such file", "check the path")),
    ("no such name", table(), ("audit", "digts"), ("data set 'digts'", "'digits'")),
    ("no data", table(), ("audit",), ("'DATA'", "noiselimit audit --help")),
    ("option", table(), (*AUDIT, "--budgt", "3"), ("'--budgt'", "'--budget'")),
    ("bad picture", photos(b"no picture"), PHOTOS, ("0.png", "--skip-bad-images")),
    ("empty picture", photos(b""), PHOTOS, ("0.png", "--skip-bad-images")),
    ("no class folders", folder("empty"), ("audit", "empty"), ("empty", "one folder for each class")),
    (
        "no label column and an existing folder",
        both(folder("audit-t"), table(label=None)),
        AUDIT,
        ("t.csv", "no column 'label'", "--label"),
    ),
    # Where to write.
    ("existing folder", folder("audit-t"), AUDIT, ("audit-t", "exists", "--overwrite")),
    (
        "somebody's folder",
        folder("audit-t", "mine"),
        (*AUDIT, "--overwrite"),
        ("audit-t", "notes.txt", "no audit wrote", "another folder"),
    ),
    ("a file", file("there"), (*AUDIT, "--out", "there"), ("there", "this is a file", "name a folder")),
    ("below a file", file("there"), (*AUDIT, "--out", "there/x"), ("there is no folder", "another place")),
    ("inside the data", photos(), (*PHOTOS, "--out", "photos/audit"), ("inside the data", "another --out")),
    ("around the data", table(), (*AUDIT, "--out", ".", "--overwrite"), ("holds the data", "another --out")),
    ("copy exists", file("c.csv"), (*AUDIT, "--write", "c.csv"), ("c.csv", "exists", "--overwrite")),
    ("copy is the source", table(), (*AUDIT, "--write", "t.csv", "--overwrite"), ("the source itself",)),
    ("copy of another kind", table(), (*AUDIT, "--write", "c.npz"), ("c.npz", "ends in .csv", "rename")),
    ("copy in the audit", table(), (*AUDIT, "--write", "audit-t/c.csv"), ("inside audit-t", "--write")),
    ("copy in the data", photos(), (*PHOTOS, "--write", "photos/c.csv"), ("inside the source", "another")),
    ("copy is a folder", folder("c.csv"), (*AUDIT, "--write", "c.csv", "--overwrite"), ("c.csv", "folder")),
    ("copy below a file", file("f"), (*AUDIT, "--write", "f/c.csv"), ("f is no folder", "another place")),
    ("copy of a name", table(), ("audit", "digits", "--write", "c.csv"), ("digits", "leave out --write")),
    ("copy of idx", idx, ("audit", "idx", "--write", "c.csv"), ("idx", "leave out --write")),
    ("fix", table(), (*AUDIT, "--write", "c.csv", "--fix", "relable"), ("'relable'", "'relabel'")),
    ("fix alone", table(), (*AUDIT, "--fix", "drop"), ("--fix is drop", "add --write FILE")),
    (
        "copy of noise",
        table(),
        (*AUDIT, "--noise", "uniform:0.2", "--write", "c.csv"),
        ("--noise", "--write", "leave out one"),
    ),
    # What to train and flag.
    ("beta", table(), (*AUDIT, "--beta", "many"), ("--beta is", "many", "give")),
    ("negative beta", table(), (*AUDIT, "--beta", "-1"), ("--beta is -1", "give")),
    ("seed", table(), (*AUDIT, "--seed", "1.5"), ("--seed is", "1.5", "give")),
    ("empty seed", table(), (*AUDIT, "--seed", "1,,2"), ("--seed is '1,,2'", "give")),
    ("epochs", table(), ("audit", "t.csv", "--epochs", "0"), ("--epochs is", "give")),
    ("several epochs", table(), ("audit", "t.csv", "--epochs", "1,2"), ("--epochs is", "'1,2'", "give")),
    ("batch size", table(), (*AUDIT, "--batch-size", "0"), ("--batch-size is", "give")),
    ("learning rate", table(), (*AUDIT, "--learning-rate", "-1"), ("--learning-rate is -1", "give")),
    (
        "all runs fail",
        table(x=1e30 * frame()["x"]),
        (*AUDIT, "--learning-rate", "1e30"),
        ("training broke down in every run", "lower the learning rate"),
    ),
    ("network", table(), (*AUDIT, "--network", "mpl"), ("network 'mpl'", "'mlp'")),
    ("fast and several", table(), (*AUDIT, "--beta", "1,3"), ("--fast", "--beta has 2 values", "give one")),
    ("fast and seeds", table(), (*AUDIT, "--seed", "1,3"), ("--fast", "--seed has 2 values", "give one")),
    ("noise", table(), (*AUDIT, "--noise", "unifrm:0.2"), ("noise 'unifrm'", "'uniform'")),
    ("label set", table(), (*AUDIT, "--noise", "given:worst"), ("given:worst", "label set")),
    (
        "noise on missing labels",
        table(label=[None, *"abc" * 13]),
        (*AUDIT, "--noise", "uniform:0.2"),
        ("label",),
    ),
    ("budget", table(), (*AUDIT, "--budget", "-1"), ("--budget is -1", "give a whole number")),
    ("no budget", table(), (*AUDIT, "--budget", "some"), ("--budget", "integer", "noiselimit audit --help")),
    ("share", table(), (*AUDIT, "--expect-noise", "1"), ("--expect-noise is 1", "give a number")),
    (
        "quality",
        table(),
        (*AUDIT, "--min-quality", "1.1"),
        ("--min-quality is 1.1", "give a number ≥ 0 and ≤ 1."),
    ),
    ("NaN", table(), (*AUDIT, "--min-quality", "nan"), ("--min-quality is nan", "give a number")),
    (
        "two steerings",
        table(),
        (*AUDIT, "--budget", "3", "--min-quality", "0.2"),
        ("--budget and --min-quality each say how many labels to flag", "give one"),
    ),
    ("device", table(), (*AUDIT, "--device", "tpu"), ("tpu", "cpu")),
    ("threads", table(), (*AUDIT, "--threads", "0"), ("--threads is 0", "give a whole number")),
    ("kernels", table(), (*AUDIT, "--kernels", "maybe"), ("maybe", "auto")),
    ("resize of a table", table(), (*AUDIT, "--resize", "8"), ("t.csv", "--resize", "leave it out")),
    ("download of a file", table(), (*AUDIT, "--download"), ("t.csv", "leave out --download")),
]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--out", "taken"),
        ("--write", "c.npz"),
        ("--write", "taken.csv"),
        ("--budget", "-1"),
        ("--beta", "x"),
        ("--noise", "x"),
        ("--device", "x"),
        ("--graphs", "x"),
    ],
)
def test_what_is_typed_wrong_is_told_before_data_are_read(command, monkeypatch, arguments) -> None:
    table()()
    Path("taken").mkdir()
    Path("taken.csv").touch()

    def no_reading(*_: object, **__: object) -> None:
        raise AssertionError("data were read")

    monkeypatch.setattr("noiselimit.data.catalogue.load_data", no_reading)
    assert command(*AUDIT, *arguments).code == 2
    with pytest.raises(AssertionError, match="data were read"):
        command(*AUDIT)


def test_few_examples_a_class_may_be_insisted_on(command) -> None:
    table(label=np.arange(40) % 9)()
    answer = command(*AUDIT, "--many-classes")
    assert answer.code == 0, answer.err
    assert Path("audit-t/report.html").exists()


def test_text_is_told_from_names_and_how_to_embed_it(command) -> None:
    many = frame(400).assign(remark=[f"remark number {row} has words" for row in range(400)])
    many.to_csv("t.csv", index=False)
    answer = command(*AUDIT)
    assert answer.code == 2
    assert "embed" in answer.err
    assert "numpy.savez" in answer.err


def test_a_copy_that_cannot_be_made_after_all_leaves_the_audit(command, monkeypatch) -> None:
    """Somebody changes the source while the networks train: the audit is kept, the copy is refused."""
    from noiselimit.audit import fit as train

    audit_data = train.audit_data

    def meanwhile(*arguments: object, **how: object) -> object:
        frame(41).to_csv("t.csv", index=False)
        return audit_data(*arguments, **how)

    table()()
    monkeypatch.setattr("noiselimit.audit.fit.audit_data", meanwhile)
    answer = command(*AUDIT, "--write", "c.csv", "--budget", "3")
    assert answer.code == 2
    assert "there are 41 rows but the audit has 40" in answer.err
    assert Path("audit-t/label_issues.csv").exists()
    assert not Path("c.csv").exists()
