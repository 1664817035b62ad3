"""Embedders of text, by name: `wordllama`, `tf-idf`, `sentence-transformers:NAME_OR_PATH`, or your own.

`package.module:function` is your own: function(list of n texts) → [n, d].
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noiselimit.dotted import load
from noiselimit.errors import InputError, unknown
from noiselimit.features.cache import (
    FEATURES,
    KEY_BYTES,
    Embedding,
    FeatureCache,
    Features,
    calling,
    check_features,
    features_name,
    is_own,
    loading,
    require_package,
)

WORDLLAMA, TF_IDF, SENTENCES = "wordllama", "tf-idf", "sentence-transformers"
TERMS, DIMENSIONS = 2**14, 128
"""Hashed terms of tf-idf, and features to which they are reduced."""
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff"
    r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Characters of scripts without spaces between words, such as Chinese, Japanese and Thai."""
WORD = re.compile(r"(?<!\S)[^\w\s]*[^\W\d_]")
PART = 1024
"""Texts per part of the cache: what an audit may lose if it is killed."""
BUILT_IN = ("efficientnet-lite0", WORDLLAMA, TF_IDF)
"""Models that a run may name without being trusted; others load files or code from anywhere."""

Arrays = Mapping[str, npt.NDArray[np.float32]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TextEmbedder:
    """A function from texts to feature vectors, and what identifies it."""

    embedding: Embedding
    call: Callable[[list[str]], Any]
    cached: bool = False
    """Whether it is slow enough for a cache."""

    def embed(
        self, texts: Sequence[str], cache: Path | None = None, progress: Progress | None = None
    ) -> Features:
        """Embed texts; equal texts are embedded once, and texts in the cache are not embedded again."""
        distinct = list(dict.fromkeys(texts))
        keys = np.array([_key(text) for text in distinct], np.uint8)
        store = FeatureCache(self.embedding, cache if self.cached else None)
        new = store.missing(keys).tolist()
        for start in range(0, len(new), PART):
            rows = new[start : start + PART]
            store.add(keys[rows], self._checked([distinct[row] for row in rows]))
            if progress is not None and self.cached:
                progress(start + len(rows), len(new))
        row_of = {text: row for row, text in enumerate(distinct)}
        return store.read(keys)[[row_of[text] for text in texts]]

    def _checked(self, texts: list[str]) -> Features:
        with calling(self.embedding.name):
            found = np.asarray(self.call(texts), np.float32)
        return check_features(self.embedding.name, found, len(texts), self.embedding.dimension)


@dataclass(frozen=True)
class TextFeatures:
    """How to embed the text columns of a table."""

    name: str = "auto"
    """An embedder, 'auto' (wordllama if it is installed, else tf-idf) or 'none'."""
    columns: tuple[str, ...] = ()
    """Columns that hold text, besides those that look like it."""
    cache: Path | None = None
    progress: Progress | None = None

    @property
    def chosen(self) -> str:
        """The name of the embedder."""
        if self.name != "auto":
            return features_name(self.name)
        return TF_IDF if find_spec(WORDLLAMA) is None else WORDLLAMA

    def load(self, texts: Sequence[str]) -> tuple[TextEmbedder, Arrays]:
        """The embedder and, if it is fitted to the texts, its arrays."""
        if self.chosen != TF_IDF:
            return load_text_embedder(self.chosen), {}
        arrays = fit_tf_idf(texts)
        return load_tf_idf(arrays), arrays


def count_words(text: str) -> int:
    """The number of words, which begin with a letter; two characters are one where words have no spaces."""
    return max(len(WORD.findall(text)), len(re.findall(f"[{UNSPACED}]", text)) // 2)


def _key(text: str) -> list[int]:
    return list(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest())


def require_trust(embedding: Embedding, trusted: bool) -> None:
    """Refuse to load what a run names, unless it is a built-in model or the user trusts the run."""
    if not trusted and embedding.name not in BUILT_IN and embedding.name not in FEATURES:
        raise InputError(
            f"this run needs the features '{embedding.name}': if you trust it, load the run with "
            "trusted=True, or use --trust on the command line."
        )


def is_text_embedder(name: str) -> bool:
    """Whether the name is that of an embedder of text only."""
    return name in (WORDLLAMA, TF_IDF) or name.startswith(f"{SENTENCES}:")


@lru_cache(maxsize=2)
def load_text_embedder(name: str) -> TextEmbedder:
    """Load a pretrained embedder by name; `fit_tf_idf` makes the other kind."""
    if is_own(name):
        function = load("features", name)
        with calling(name):
            example = np.asarray(function(["Label noise."]), np.float32)
        check_features(name, example, 1)
        embedding = Embedding(name, digest_arrays([example]), example.shape[1])
        return TextEmbedder(embedding, function, cached=True)
    kind, _, model = name.partition(":")
    if name != WORDLLAMA and not (kind == SENTENCES and model):
        known = ("auto", WORDLLAMA, TF_IDF, f"{SENTENCES}:NAME", *FEATURES, "package.module:function")
        raise unknown("features of text", name, known)
    require_package(name, kind)
    with loading(name):
        return _wordllama() if name == WORDLLAMA else _sentence_transformer(name, model)


def _wordllama() -> TextEmbedder:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    import wordllama

    root.setLevel(level)  # its import configures everybody's logging
    root.handlers[:] = handlers
    installed = Path(wordllama.__file__).parent  # where it does not look for its own tokeniser
    model = wordllama.WordLlama.load(cache_dir=installed, disable_download=True)
    weights = np.asarray(model.embedding)

    def call(texts: list[str]) -> Any:
        return model.embed([text if text.strip() else "-" for text in texts], norm=True)

    return TextEmbedder(Embedding(WORDLLAMA, digest_arrays([weights]), weights.shape[1]), call)


def _sentence_transformer(name: str, path: str) -> TextEmbedder:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(path)
    weights = [tensor.float().cpu().numpy() for tensor in model.state_dict().values()]

    def call(texts: list[str]) -> Any:
        return model.encode(texts, show_progress_bar=False, convert_to_numpy=True)

    dimension = call(["Label noise."]).shape[1]
    return TextEmbedder(Embedding(name, digest_arrays(weights), dimension), call, cached=True)


def fit_tf_idf(texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
    """Fit tf-idf with a truncated SVD: weights `idf` [terms] and `components` [d, terms]."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.utils.extmath import randomized_svd

    counts = _count_terms(texts)
    weighting = TfidfTransformer(sublinear_tf=True)
    size = max(2, min(DIMENSIONS, len(texts) - 1))
    components = randomized_svd(weighting.fit_transform(counts), size, random_state=0)[2]
    arrays = {"idf": weighting.idf_, "components": components}
    return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}


def load_tf_idf(arrays: Arrays) -> TextEmbedder:
    """The embedder that `fit_tf_idf` fitted; ValueError if the arrays have other shapes."""
    from sklearn.preprocessing import normalize

    idf, components = arrays["idf"], arrays["components"]
    if idf.shape != (TERMS,) or components.ndim != 2 or components.shape[1] != TERMS:
        raise ValueError("weights of tf-idf of another shape")

    def call(texts: list[str]) -> Any:
        counts = _count_terms(texts)
        counts.data = 1 + np.log(counts.data)
        return normalize(normalize(counts.multiply(idf).tocsr()) @ components.T)

    return TextEmbedder(Embedding(TF_IDF, digest_arrays([idf, components]), len(components)), call)


def _count_terms(texts: Sequence[str]) -> Any:
    """[n, terms]: sparse counts of words and pairs of words, hashed; a character of Chinese is a word."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        n_features=TERMS,
        ngram_range=(1, 2),
        token_pattern=rf"[{UNSPACED}]|[^\W{UNSPACED}]+",
        alternate_sign=False,
        norm=None,
        dtype=np.float32,
    )
    return hashing.transform(texts)


def digest_arrays(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Digest of shapes and values."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
