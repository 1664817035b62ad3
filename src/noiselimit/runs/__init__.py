"""A finished run as a value and as a folder."""

from noiselimit.runs.folder import load_run, write_run
from noiselimit.runs.run import DataInfo, Run, RunContents, Weights
from noiselimit.runs.select import choose

__all__ = ["DataInfo", "Run", "RunContents", "Weights", "choose", "load_run", "write_run"]
