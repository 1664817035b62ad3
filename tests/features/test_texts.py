"""Embedders of text by name, their cache, and what a run may load."""

import logging
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from noiselimit.dotted import override_factories
from noiselimit.errors import InputError
from noiselimit.features import cache, texts
from noiselimit.features.cache import Embedding
from noiselimit.features.texts import TextFeatures, load_text_embedder, require_trust

SENTENCES = ["The weather is fine.", "It rains all day.", "", "The weather is fine."]


@pytest.fixture(autouse=True)
def _forget() -> None:
    load_text_embedder.cache_clear()


@pytest.mark.parametrize("name", ["wordllama", "tf-idf"])
def test_equal_texts_have_equal_features_and_similar_ones_are_near(name: str) -> None:
    if name == "wordllama":
        pytest.importorskip(name)
    handlers = list(logging.getLogger().handlers)
    embedder, _ = TextFeatures(name).load(SENTENCES)
    found = embedder.embed([*SENTENCES, "Fine weather."])
    assert found.shape == (5, embedder.embedding.dimension)
    assert np.array_equal(found[0], found[3])
    assert found[0] @ found[4] > found[1] @ found[4]
    assert logging.getLogger().handlers == handlers


def test_characters_of_chinese_are_words_for_tf_idf() -> None:
    texts = ["今天菜很好吃", "昨天来，很好吃呢", "价格太贵了", "周末去，太贵"]
    first, alike, other, _ = TextFeatures("tf-idf").load(texts)[0].embed(texts)
    assert first @ alike > 0.3 > abs(first @ other)


def test_sentence_transformers(monkeypatch: Any) -> None:
    import torch

    class SentenceTransformer(torch.nn.Linear):
        def __init__(self, path: str) -> None:
            super().__init__(3, 2)

        def encode(self, given: list[str], **options: Any) -> Any:
            return np.array([[len(text), 1.0, 2.0] for text in given])

    module = ModuleType("sentence_transformers")
    module.__spec__ = ModuleSpec("sentence_transformers", None)
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    assert load_text_embedder("sentence-transformers:small").embed(["abc"]).tolist() == [[3, 1, 2]]


def test_your_own_function_is_cached_and_resumes_after_a_kill(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(texts, "PART", 2)
    seen: list[str] = []

    def count(given: list[str]) -> list[list[float]]:
        seen.extend(given)
        if "e" in given:
            raise KeyboardInterrupt
        return [[len(text), 1.0] for text in given]

    with override_factories({"my.module:count": count}):
        embedder = load_text_embedder("my.module:count")
    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(["a", "bb", "a", "c", "d", "e"], tmp_path)
    assert seen == ["a", "bb", "c", "d", "e"]
    shown: list[tuple[int, int]] = []
    found = embedder.embed(["bb", "d", "f"], tmp_path, lambda *news: shown.append(news))
    assert (found.tolist(), seen[5:], shown) == ([[2, 1], [1, 1], [1, 1]], ["f"], [(1, 1)])


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda given: [[1.0]] * (len(given) + 1), r"\[2, 1\]: return \[1, "),
        (lambda given: [[1.0]] if len(given) == 1 else [[1.0]] * 3, "shape"),
        (lambda given: [[float("nan") if len(given) > 1 else 1.0]] * len(given), "NaN"),
        (lambda given: 1 / 0, "fail"),
        (lambda given: [["a"]], "fail"),
    ],
)
def test_functions_that_cannot_be_used(function: Any, word: str) -> None:
    with override_factories({"my.module:f": function}), pytest.raises(InputError, match=word):
        load_text_embedder("my.module:f").embed(["a", "b"])


@pytest.mark.parametrize("name", ["wordllama", "sentence-transformers:all"])
def test_a_package_that_is_not_installed(monkeypatch: Any, name: str) -> None:
    monkeypatch.setattr(cache, "find_spec", lambda module: None)
    with pytest.raises(InputError, match="pip install"):
        load_text_embedder(name)


@pytest.mark.parametrize("name", ["word", "sentence-transformers:", "", "efficientnet-lite0"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InputError, match="features"):
        load_text_embedder(name)


def test_a_run_that_is_not_trusted_loads_built_in_models_only() -> None:
    require_trust(Embedding("wordllama", "", 2), trusted=False)
    require_trust(Embedding("os:system", "", 2), trusted=True)
    for name in ("os:system", "sentence-transformers:/tmp/model", "transformers:model"):
        with pytest.raises(InputError, match="trust"):
            require_trust(Embedding(name, "", 2), trusted=False)


def test_weights_of_another_model() -> None:
    with pytest.raises(InputError, match="weights"):
        Embedding("wordllama", "a", 2).require_same(Embedding("wordllama", "b", 2))
