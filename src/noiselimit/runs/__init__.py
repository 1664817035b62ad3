"""A finished run as a value and as a folder."""

from noiselimit.runs.folder import load_run, write_run
from noiselimit.runs.run import DataInfo, Run, RunContents
from noiselimit.runs.select import choose

__all__ = ["DataInfo", "Run", "RunContents", "choose", "load_run", "write_run"]
