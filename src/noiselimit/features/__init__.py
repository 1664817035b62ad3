"""Frozen features of pictures and texts: embedders, their cache, and data sets with features as inputs."""

from noiselimit.features.cache import FEATURES as FEATURES
