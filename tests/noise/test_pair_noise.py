"""Pair noise: CIFAR-10's four pairs and anybody's, by the names of classes however odd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.noise import PairNoise, parse_noise

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def moves(noise, names):
    """{(source, target): probability} of a noise's matrix, with the sum of every row checked."""
    matrix = noise.transition(names)
    assert np.allclose(matrix.sum(axis=1), 1, rtol=0, atol=1e-12)
    places = np.argwhere((matrix > 0) & ~np.eye(len(names), dtype=bool))
    return {(names[i], names[j]): pytest.approx(matrix[i, j]) for i, j in places}


def test_the_four_pairs_of_cifar_10():
    assert moves(parse_noise("pair:0.4"), CIFAR10) == {
        ("truck", "automobile"): 0.4,
        ("bird", "airplane"): 0.4,
        ("deer", "horse"): 0.4,
        ("cat", "dog"): 0.4,
    }


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cat>dog:0.4", {("cat", "dog"): 0.4}),
        (" cat > dog : 0.4 ; deer>horse:1e-1;", {("cat", "dog"): 0.4, ("deer", "horse"): 0.1}),
        ("cat>dog:0.4;cat>deer:0.6", {("cat", "dog"): 0.4, ("cat", "deer"): 0.6}),
        ("cat>dog:0.4;dog>cat:.2", {("cat", "dog"): 0.4, ("dog", "cat"): 0.2}),
        ("cat>dog:0", {}),
    ],
)
def test_mappings(text, wanted):
    assert moves(parse_noise(f"pair:{text}"), CIFAR10) == wanted


ODD = ("ski boot", "a:b", "x>y", "x", "y>z", "semi;colon", "time 12:30", "> 50")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ski boot>a:b:0.4", {("ski boot", "a:b"): 0.4}),
        ("a:b>time 12:30:0.4;x>ski boot:0.2", {("a:b", "time 12:30"): 0.4, ("x", "ski boot"): 0.2}),
        ("x>y>x:0.4", {("x>y", "x"): 0.4}),
        ("semi;colon>x:0.4;x>semi;colon:0.3", {("semi;colon", "x"): 0.4, ("x", "semi;colon"): 0.3}),
        ("x>> 50:0.4", {("x", "> 50"): 0.4}),
        ("> 50>x:0.4", {("> 50", "x"): 0.4}),
    ],
)
def test_names_with_signs_in_them(text, wanted):
    assert moves(parse_noise(f"pair:{text}"), ODD) == wanted


@given(st.permutations(["cat>dog", "deer>horse", "deer>frog"]), st.sampled_from([">", " > ", "> "]))
def test_order_and_blanks_do_not_tell_noises_apart(pairs, arrow):
    text = ";".join(f"{pair.replace('>', arrow)}:0.3" for pair in pairs)
    assert parse_noise(f"pair:{text}") == PairNoise({"deer>frog": 0.3, "cat>dog": 0.3, "deer>horse": 0.3})


@given(
    st.lists(
        st.tuples(
            st.text("abc :;.", min_size=1).filter(lambda name: name.strip() == name and ":" not in name[-1:]),
            st.text("abc :;.", min_size=1).filter(lambda name: name.strip() == name and ":" not in name[-1:]),
            st.floats(0, 0.25),
        ).filter(lambda pair: pair[0] != pair[1] and ";" not in pair[0][:1]),
        min_size=1,
        max_size=4,
        unique_by=lambda pair: pair[:2],
    )
)
def test_what_is_typed_is_what_is_meant(pairs):
    text = ";".join(f"{source}>{target}:{probability!r}" for source, target, probability in pairs)
    wanted = PairNoise({f"{source}>{target}": probability for source, target, probability in pairs})
    assert parse_noise(f"pair:{text}") == wanted


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"^pair noise '' does not end in a colon and a probability; write pair:0\.4 for CIFAR-10's"),
        ("cat>dog", r"^pair noise 'cat>dog' does not end in a colon and a probability; write"),
        ("cat>dog:40%", r"^pair noise 'cat>dog:40%' does not end in"),
        ("cat>dog:0.4;deer>horse", r"^pair noise 'deer>horse' does not end in"),
        ("cat>dog:1.4", r"^pair noise 'cat>dog' has the probability 1\.4; give a number from 0 to 1"),
        ("cat>dog:nan", r"^pair noise 'cat>dog' has the probability nan; give"),
        ("cat:0.4", r"^pair noise 'cat' names no two classes; write them as in 'cat>dog'"),
        (">dog:0.4", r"^pair noise '>dog' names no two classes"),
        ("cat>dog:0.4;cat > dog:0.1", r"^pair noise has 'cat>dog' twice; give it one probability"),
    ],
)
def test_text_that_is_no_mapping(text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_noise(f"pair:{text}")


@pytest.mark.parametrize(
    ("text", "names", "sentence"),
    [
        ("cta>dog:0.4", CIFAR10, r"^unknown class of pair noise 'cta': did you mean 'cat'\?"),
        ("cat>Dog:0.4", CIFAR10, r"^unknown class of pair noise 'Dog': did you mean 'dog'\?"),
        ("cat>xyzzy:0.4", ("cat", "dog"), r"^unknown class of pair noise 'xyzzy': choose one of dog"),
        ("yes>yess:0.4", ("no", "yes"), r"^unknown class of pair noise 'yess': choose one of no\.$"),
        ("x>y>no:0.4", ODD, r"^unknown class of pair noise 'y>no': did you mean 'y>z'\?"),
        ("cat>cat:0.4", CIFAR10, r"^pair noise 'cat>cat' leads from a class to itself; name another"),
        (
            "x>y>z:0.4",
            (*ODD, "z"),
            r"may mean 'x' to 'y>z' or 'x>y' to 'z'; rename a class or give matrix:FILE",
        ),
        (
            "cat>dog:0.7;cat>deer:0.4",
            CIFAR10,
            r"^pair noise changes 'cat' with probability 1\.1 in all; lower",
        ),
        ("0.4", ("cat", "dog"), r"have no class 'bird'; name classes of yours, as in 'pair:cat>dog:0\.4'"),
        ("0.4", CIFAR10[:-1], r"is for CIFAR-10's classes, but the data have no class 'truck'"),
    ],
)
def test_mappings_that_do_not_fit_the_classes(text, names, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_noise(f"pair:{text}").transition(names)


def test_a_sum_that_only_rounding_lifts_above_one_is_one():
    thirds = PairNoise({f"cat>{name}": 1 / 7 for name in CIFAR10 if name not in ("cat", "dog", "frog")})
    assert thirds.transition(CIFAR10)[3, 3] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    "pairs", [3, None, "abc", "ab", [("a>b",)], [("a>b", 0.1, 2)], [3], {"a>b": "x"}, {}]
)
def test_what_is_no_mapping_in_python(pairs):
    with pytest.raises(InputError, match=r"^pair noise "):
        PairNoise(pairs)
