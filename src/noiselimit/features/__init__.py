"""Frozen features of pictures: embedders, their cache, and data sets with features in place of pixels."""

from noiselimit.features.embedders import Embedder, load_embedder
from noiselimit.features.pictures import PictureFeatures, embed_pictures

__all__ = ["Embedder", "PictureFeatures", "embed_pictures", "load_embedder"]
