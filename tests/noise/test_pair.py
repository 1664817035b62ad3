"""Pair noise: CIFAR-10's four pairs, and pairs of class names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noiselimit.errors import InputError
from noiselimit.noise import PairNoise, parse_noise

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ODD = ("ski boot", "a:b", "x>y", "x", "y>z", "time 12:30", ">50K", "<=50K")


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        (
            "0.4",
            CIFAR10,
            {
                "truck": ("automobile", 0.4),
                "bird": ("airplane", 0.4),
                "deer": ("horse", 0.4),
                "cat": ("dog", 0.4),
            },
        ),
        ("cat>dog:0.4", CIFAR10, {"cat": ("dog", 0.4)}),
        (" cat > dog : 0.4 ; deer>horse:1e-1;", CIFAR10, {"cat": ("dog", 0.4), "deer": ("horse", 0.1)}),
        ("cat>dog:0.4;dog>cat:.2", CIFAR10, {"cat": ("dog", 0.4), "dog": ("cat", 0.2)}),
        ("cat>dog:0", CIFAR10, {}),
        ("ski boot>a:b:0.4", ODD, {"ski boot": ("a:b", 0.4)}),
        ("a:b>time 12:30:0.4;x>ski boot:0.2", ODD, {"a:b": ("time 12:30", 0.4), "x": ("ski boot", 0.2)}),
        ("x>y>x:0.4", ODD, {"x>y": ("x", 0.4)}),
        ("<=50K>>50K:0.4", ODD, {"<=50K": (">50K", 0.4)}),
    ],
)
def test_transition(text, names, expected):
    wanted = np.eye(len(names))
    for source, (target, probability) in expected.items():
        wanted[names.index(source), names.index(target)] = probability
        wanted[names.index(source), names.index(source)] -= probability
    assert np.allclose(parse_noise(f"pair:{text}").transition(names), wanted, rtol=0, atol=1e-12)


def test_several_targets_may_sum_to_one():
    row = parse_noise("pair:cat>dog:0.4;cat>deer:0.6").transition(CIFAR10)[3]
    assert row[[3, 4, 5]].tolist() == [0, 0.6, 0.4]
    sevenths = PairNoise({f"cat>{name}": 1 / 7 for name in CIFAR10 if name not in ("cat", "dog", "frog")})
    assert sevenths.transition(CIFAR10)[3, 3] == pytest.approx(0, abs=1e-12)


names = st.text("abc :.", min_size=1).filter(lambda name: name.strip() == name)


@given(st.dictionaries(st.tuples(names, names), st.floats(0, 0.25), min_size=1, max_size=4))
def test_text_and_mapping_agree(pairs):
    mapping = {f"{source}>{target}": probability for (source, target), probability in pairs.items()}
    text = ";".join(f"{pair}:{probability!r}" for pair, probability in mapping.items())
    assert parse_noise(f"pair:{text}") == PairNoise(mapping)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("cat>dog", "cat>dog"),
        ("cat>dog:40%", "cat>dog:40%"),
        ("cat>dog:0.4;deer>horse", "deer>horse"),
        ("cat>dog:1.4", "1.4"),
        ("cat>dog:nan", "nan"),
        ("cat:0.4", "'cat'"),
        (">dog:0.4", "'>dog'"),
        ("cat>dog:0.4;cat > dog:0.1", "twice"),
    ],
)
def test_text_that_is_no_pair(text, word):
    with pytest.raises(InputError) as caught:
        parse_noise(f"pair:{text}")
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names", "word"),
    [
        ("cta>dog:0.4", CIFAR10, "'cat'"),
        ("cat>Dog:0.4", CIFAR10, "'dog'"),
        ("yes>yess:0.4", ("no", "yes"), "choose one of no"),
        ("cat>cat:0.4", CIFAR10, "itself"),
        ("x>y>z:0.4", (*ODD, "z"), "ambiguous"),
        ("cat>dog:0.7;cat>deer:0.4", CIFAR10, "1.1"),
        ("0.4", CIFAR10[:-1], "CIFAR-10"),
    ],
)
def test_pairs_that_do_not_fit_the_classes(text, names, word):
    with pytest.raises(InputError) as caught:
        parse_noise(f"pair:{text}").transition(names)
    assert word in str(caught.value)


@pytest.mark.parametrize("pairs", [3, None, "abc", [("a>b",)], [3], {"a>b": "x"}, {}])
def test_what_is_no_mapping_in_python(pairs):
    with pytest.raises(InputError, match="pair"):
        PairNoise(pairs)
