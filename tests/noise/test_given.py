"""Labels that were made elsewhere: a label set of the data, or a file."""

import json

import numpy as np
import pytest

from noiselimit.data.examples import make_examples
from noiselimit.errors import InputError
from noiselimit.noise import GivenNoise, noise_from_json, noise_to_json, parse_noise

CLEAN = np.array([0, 1, 2, 0, 1, 2])
NOISY = np.array([0, 2, 2, 1, 1, 2])
NAMES = ("cat", "dog", "wild, red fox")


def animals(**more):
    return make_examples(np.zeros((6, 1)), CLEAN, class_names=NAMES, **more)


def test_a_label_set():
    examples = animals(label_sets={"worst": NOISY, "rand1": CLEAN})
    noisy = parse_noise("given:worst").apply(examples, seed=9)
    assert np.array_equal(noisy.labels, NOISY)
    assert np.array_equal(noisy.clean_labels, CLEAN)
    noisy.labels[:] = 0
    assert np.array_equal(examples.label_sets["worst"], NOISY)


def test_clean_labels_that_are_known_stay():
    examples = animals(clean_labels=CLEAN[::-1].copy(), label_sets={"worst": NOISY})
    assert np.array_equal(GivenNoise("worst").apply(examples, 0).clean_labels, CLEAN[::-1])


def write(path, content):
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.npy", NOISY),
        ("labels.npy", NOISY.astype(np.uint8)),
        ("labels.npy", NOISY.astype(np.float32)),
        ("labels.npy", np.array(NAMES)[NOISY]),
        ("labels.txt", "0\n2\n 2\n1\r\n1\n2\n\n"),
        ("labels.txt", "\n".join(NAMES[label] for label in NOISY)),
        ("labels.csv", "0\n2\n2\n\n1\n1\n2"),
        ("labels.csv", "\ufeff0\r\n2\r\n2\r\n1\r\n1\r\n2\r\n"),
        ("labels.csv", "\n".join(f'"{NAMES[label]}"' for label in NOISY)),
    ],
)
def test_a_file(tmp_path, name, content):
    noise = parse_noise(f"given:{write(tmp_path / name, content)}")
    assert np.array_equal(noise.draw(animals(), 0), NOISY)
    again = parse_noise(f"given:{tmp_path / name}")
    assert noise == again
    assert hash(noise) == hash(again)
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


@pytest.mark.parametrize("kind", [int, str])
def test_numbers_are_names_where_classes_are_called_so_in_whatever_file_they_are(tmp_path, kind):
    examples = make_examples(np.zeros((4, 1)), [0, 1, 2, 0], class_names=["1", "2", "3"])

    def drawn(*labels):
        if kind is int:
            path = write(tmp_path / "labels.NPY.npy", np.array(labels))
        else:
            path = write(tmp_path / "labels.TXT", "\n".join(map(str, labels)))
        return parse_noise(f"given:{path}").draw(examples, 0).tolist()

    assert drawn(3, 1, 2, 2) == [2, 0, 1, 1]
    assert drawn(3, 3, 3, 1) == [2, 2, 2, 0]
    assert drawn(0, 1, 2, 2) == [0, 1, 2, 2]
    with pytest.raises(
        InputError, match=r"labels may be names of classes or their numbers from 0, which differ"
    ):
        drawn(1, 1, 2, 2)
    with pytest.raises(InputError, match="label in row 2 is 4, which is none of the 3 classes"):
        drawn(1, 2, 4, 3)


def test_where_names_are_the_numbers_both_ways_are_one():
    examples = make_examples(np.zeros((3, 1)), [0, 1, 2])
    assert GivenNoise.from_labels([1, 1, 2]).draw(examples, 0).tolist() == [1, 1, 2]
    assert GivenNoise.from_labels(["1", "1", "2"]).draw(examples, 0).tolist() == [1, 1, 2]


def test_other_labels_or_another_name_make_another_noise():
    noise = GivenNoise.from_labels(NOISY, "a.csv")
    assert noise == GivenNoise.from_labels(NOISY.tolist(), "a.csv")
    assert noise != GivenNoise.from_labels(NOISY, "b.csv")
    assert noise != GivenNoise.from_labels(CLEAN, "a.csv")
    assert GivenNoise.from_labels(["ab", "c"]).digest != GivenNoise.from_labels(["a", "bc"]).digest


def test_the_callers_labels_are_not_kept():
    labels = NOISY.copy()
    noise = GivenNoise.from_labels(labels)
    labels[:] = 0
    assert np.array_equal(noise.draw(animals(), 0), NOISY)


def test_a_spec_keeps_name_and_digest_and_cannot_be_applied():
    noise = GivenNoise.from_labels(np.zeros(100_000, int), "labels.csv")
    written = noise_to_json(noise)
    assert written == {"given": {"file": "labels.csv", "digest": noise.digest}}
    with pytest.raises(
        InputError, match=r"^labels\.csv: a run's spec keeps only the digest .*; name the file again"
    ):
        noise_from_json(written).apply(animals(), 0)


@pytest.mark.parametrize(
    ("name", "sets", "sentence"),
    [
        ("wrost", ("worst", "rand1"), r"^unknown label set of given noise 'wrost': did you mean 'worst'\?"),
        (
            "xyzzy",
            ("worst", "rand1"),
            r"^unknown label set of given noise 'xyzzy': choose one of rand1, worst",
        ),
        (
            "worst",
            (),
            r"^noise 'given:worst' asks for a label set but the data have none; take data that have",
        ),
    ],
)
def test_label_sets_that_are_not_there(name, sets, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_noise(f"given:{name}").apply(animals(label_sets=dict.fromkeys(sets, NOISY)), 0)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"0\n1\n", r"a\.csv: there are 2 labels but 6 examples; give one label per example"),
        ("a.csv", b"0\n1\n2\n0\n1\n3\n", r"a\.csv: label in row 5 is 3, which is none of the 3 classes"),
        ("a.csv", b"cat\n" * 5 + b"cow\n", r"a\.csv: label in row 5 is cow, which is none of the 3 classes"),
        ("a.csv", b"0\n" * 5 + b"-1\n", r"a\.csv: label in row 5 is -1; labels must be whole numbers"),
        ("a.csv", b"0\n1,2\n", r"a\.csv: row 1 has 2 columns; keep the labels alone, one on each line"),
        ("a.csv", b'""\n0\n', r"a\.csv: label in row 0 is missing; fill it in"),
        ("a.csv", b"", r"a\.csv: there are 0 labels but 6 examples"),
        ("a.txt", b"\xff\xfe", r"a\.txt: cannot be read as labels \(.*\); write it anew"),
        ("a.npy", b"\x93NUMPY", r"a\.npy: cannot be read as labels \(.*\); write it anew"),
        (
            "a.npz",
            b"PK",
            r"a\.npz: an archive may hold several arrays; save the labels alone with numpy\.save",
        ),
        ("a.xls", b"", r"a\.xls: labels must come in a \.npy, \.csv or \.txt file; convert it"),
    ],
)
def test_files_that_do_not_serve(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        parse_noise(f"given:{tmp_path / name}").apply(animals(), 0)


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros((6, 1), int), r"labels have shape \[6, 1\]; give one label per example"),
        (np.array([0, 1, 2, 0.5, 1, 1]), r"label in row 3 is 0\.5; labels must be whole numbers"),
        (np.array([0, 1, 2, np.nan, 1, 1]), r"label in row 3 is missing"),
        (np.array([0, 1, 2, 0, 1, None]), r"cannot be read as labels \(it holds Python objects"),
    ],
)
def test_arrays_that_do_not_serve(tmp_path, array, sentence):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=rf"a\.npy: {sentence}"):
        parse_noise(f"given:{tmp_path / 'a.npy'}").apply(animals(), 0)


@pytest.mark.parametrize("text", ["given", "given:"])
def test_nothing_named(text):
    with pytest.raises(InputError, match=r"^given noise of '' is not possible; name a label set"):
        parse_noise(text)


@pytest.mark.parametrize("name", ["absent.csv", "folder/absent", "absent.npy"])
def test_absent_files(name):
    with pytest.raises(InputError, match=rf"^{name}: "):
        parse_noise(f"given:{name}")
