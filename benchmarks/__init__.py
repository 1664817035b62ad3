"""Measurements of speed, detection and scale. Run from a checkout: `python -m benchmarks --help`."""
