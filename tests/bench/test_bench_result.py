"""Bench files: what is read, what is refused, and what is never overwritten."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noiselimit.bench.compare import compare
from noiselimit.bench.result import check_target, read_bench
from noiselimit.cli.bench_tables import print_comparison
from noiselimit.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no bench file"),
        ("[]", "no bench file"),
        ('{"kind": "other"}', "no bench file"),
        ("[" * 100_000, "no bench file"),
        ('{"kind": "noiselimit bench", "schema": 99}', "another version"),
        ('{"kind": "noiselimit bench", "schema": 1}', "altered"),
    ],
)
def test_what_is_no_bench_file_is_refused_and_kept(text, match, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        read_bench(path)
    with pytest.raises(InputError, match="name another one"):
        check_target(path)
    assert path.read_text() == text


def test_targets(tmp_path, content):
    path = tmp_path / "new" / "bench.json"
    check_target(path)
    path.write_text(json.dumps(content()))
    check_target(path)  # a bench file may be replaced
    with pytest.raises(InputError, match=r"full measurement .* --out"):
        check_target(path, quick=True)
    path.write_text(json.dumps(content(quick=True)))
    check_target(path, quick=True)
    check_target(path)  # nothing is lost when a full one replaces it
    with pytest.raises(InputError, match="a folder"):
        check_target(tmp_path)
    with pytest.raises(InputError, match="is no file"):
        read_bench(tmp_path / "nowhere.json")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    where=st.sampled_from(["", "rows", "points", "ceilings"]),
    name=st.sampled_from(
        [
            "device",
            "versions",
            "commit",
            "changed",
            "date",
            "rows",
            "points",
            "ceilings",
            "finished",
            "quick",
            "precision",
            "kernels",
            "graphs",
            "row",
            "sweep",
            "seconds",
            "ratio",
            "k",
            "n",
            "peak_memory",
            "failure",
            "notices",
            "tried",
            "tflop_per_s",
            "kind",
            "schema",
        ]
    ),
    value=JSON,
)
def test_an_altered_file_is_refused_or_compared_but_never_a_traceback(where, name, value, tmp_path, content):
    good = content(
        {"row": "mnist-one", "seconds": 1.0, "k": 1, "n": 5},
        points=({"sweep": "k", "seconds": 1.0, "k": 1, "n": 5, "peak_memory": 7},),
        commit="0123456789abcdef",
    )
    place = good[where] if where else good
    (place[0] if isinstance(place, list) else place)[name] = value
    path = Path(tmp_path) / "file.json"
    path.write_text(json.dumps(good))
    try:
        read = read_bench(path)
    except InputError:
        return
    print_comparison(compare(read, content({"row": "mnist-one", "seconds": 1.0})), path, path)
    print_comparison(compare(read, read), path, path)
