"""Which values of a grid are compared, and over which seeds."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from noiselimit.reproduce.comparison import common_seeds, compare

SEEDS = st.sets(st.integers(0, 4), min_size=1)


def rows_of(make_row, seeds, **merits):
    return {
        value: [make_row(hyper=value, seed=seed, validation_accuracy=merits[value]) for seed in own]
        for value, own in seeds.items()
    }


def test_a_stray_seed_or_value_changes_nothing(make_row):
    seeds = {"one": (0, 1, 2, 3), "three": (0, 1, 2), "ten": (0, 1, 2), "hundred": (7,)}
    found = compare(rows_of(make_row, seeds, one=0.15, three=0.19, ten=0.198, hundred=0.1))
    assert (found.ranked, found.seeds) == (("ten", "three", "one"), (0, 1, 2))
    assert found.lacking == ("hundred",)


def test_without_a_seed_in_common_what_was_run_most_often_is_chosen(make_row):
    found = compare(rows_of(make_row, {"one": (0,), "ten": (1, 2)}, one=0.9, ten=0.1))
    assert (found.ranked, found.seeds, found.lacking) == (("ten",), (1, 2), ("one",))


def test_a_value_that_failed_is_compared_only_where_all_did(make_row):
    lost = {"failure": "the loss", "validation_accuracy": None, "test_accuracy": None}
    by_value = rows_of(make_row, {"one": (0, 1), "ten": (0,)}, one=0.1, ten=0.9)
    by_value["ten"].append(make_row(hyper="ten", seed=1, **lost))
    assert compare(by_value).ranked == ("one",)
    assert compare({"ten": by_value["ten"]}).ranked == ("ten",)
    assert compare({"ten": by_value["ten"][1:]}) is None
    assert compare({}) is None


@given(st.dictionaries(st.text("abcde", min_size=1, max_size=1), SEEDS, min_size=1))
def test_no_other_seeds_have_more_values_or_as_many_and_are_more(by_value):
    def merit(seeds):
        return sum(own.issuperset(seeds) for own in by_value.values()), len(seeds), [-seed for seed in seeds]

    possible = [seeds for size in range(1, 6) for seeds in combinations(range(5), size)]
    assert common_seeds(by_value) == max(possible, key=merit)
