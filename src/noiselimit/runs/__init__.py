"""Runs: what to train, and what training leaves behind."""
