"""Given labels: a label set of the data, or a file."""

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
    examples = animals(clean_labels=CLEAN[::-1].copy(), label_sets={"worst": NOISY, "rand1": CLEAN})
    noisy = parse_noise("given:worst").apply(examples, seed=9)
    assert np.array_equal(noisy.labels, NOISY)
    assert np.array_equal(noisy.clean_labels, CLEAN[::-1])
    noisy.labels[:] = 0
    assert np.array_equal(examples.label_sets["worst"], NOISY)


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
    path = tmp_path / name
    np.save(path, content) if isinstance(content, np.ndarray) else path.write_text(content, "utf-8")
    noise, again = parse_noise(f"given:{path}"), parse_noise(f"given:{path}")
    assert np.array_equal(noise.draw(animals(), 0), NOISY)
    assert noise == again
    assert hash(noise) == hash(again)
    assert noise_from_json(json.loads(json.dumps(noise_to_json(noise)))) == noise


@pytest.mark.parametrize("kind", [int, str])
def test_numbers_are_names_if_the_classes_are_called_so(kind):
    examples = make_examples(np.zeros((4, 1)), [0, 1, 2, 0], class_names=["1", "2", "3"])

    def drawn(*labels):
        return GivenNoise.from_labels([kind(label) for label in labels]).draw(examples, 0).tolist()

    assert drawn(3, 1, 2, 2) == [2, 0, 1, 1]
    assert drawn(0, 1, 2, 2) == [0, 1, 2, 2]
    with pytest.raises(InputError, match="differ"):
        drawn(1, 1, 2, 2)
    with pytest.raises(InputError, match="row 2 is 4"):
        drawn(1, 2, 4, 3)


def test_other_labels_or_another_name_make_another_noise():
    labels = NOISY.copy()
    noise = GivenNoise.from_labels(labels, "a.csv")
    labels[:] = 0  # the caller's own
    assert noise == GivenNoise.from_labels(NOISY.tolist(), "a.csv")
    assert np.array_equal(noise.draw(animals(), 0), NOISY)
    assert noise != GivenNoise.from_labels(NOISY, "b.csv")
    assert noise != GivenNoise.from_labels(CLEAN, "a.csv")
    assert GivenNoise.from_labels(["ab", "c"]).digest != GivenNoise.from_labels(["a", "bc"]).digest


def test_a_spec_keeps_name_and_digest_and_cannot_be_applied():
    noise = GivenNoise.from_labels(np.zeros(100_000, int), "labels.csv")
    assert noise.digest == "1525ee95ab72602a"  # part of run hashes
    written = noise_to_json(noise)
    assert written == {"given": {"file": "labels.csv", "digest": noise.digest}}
    with pytest.raises(InputError, match="given:FILE"):
        noise_from_json(written).apply(animals(), 0)


@pytest.mark.parametrize(
    ("name", "sets", "word"), [("wrost", ("worst", "rand1"), "'worst'"), ("worst", (), "cifar10n")]
)
def test_unknown_label_sets(name, sets, word):
    with pytest.raises(InputError, match=word):
        parse_noise(f"given:{name}").apply(animals(label_sets=dict.fromkeys(sets, NOISY)), 0)


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"0\n1\n", "2 labels but 6 examples"),
        ("a.csv", b"0\n1\n2\n0\n1\n3\n", "row 5 is 3"),
        ("a.csv", b"cat\n" * 5 + b"cow\n", "row 5 is cow"),
        ("a.csv", b"0\n" * 5 + b"-1\n", "row 5 is -1"),
        ("a.csv", b"0\n1,2\n", "column"),
        ("a.csv", b'""\n0\n', "row 0"),
        ("a.csv", b"", "0 labels"),
        ("a.txt", b"\xff\xfe", "utf-8"),
        ("a.npy", b"\x93NUMPY", "a.npy"),
        ("a.npz", b"PK", ".npy"),
        ("a.npy", np.zeros((6, 1), int), "[6, 1]"),
        ("a.npy", np.array([0, 1, 2, 0.5, 1, 1]), "row 3 is 0.5"),
        ("a.npy", np.array([0, 1, 2, np.nan, 1, 1]), "row 3"),
        ("a.npy", np.array([0, 1, 2, 0, 1, None]), "allow_pickle"),
    ],
)
def test_bad_files(tmp_path, name, content, word):
    path = tmp_path / name
    np.save(path, content) if isinstance(content, np.ndarray) else path.write_bytes(content)
    with pytest.raises(InputError, match=name) as caught:
        parse_noise(f"given:{path}").apply(animals(), 0)
    assert word in str(caught.value)


@pytest.mark.parametrize("name", ["", "absent.csv", "folder/absent", "absent.npy"])
def test_absent_files(name):
    with pytest.raises(InputError, match=name or "label set"):
        parse_noise(f"given:{name}")
