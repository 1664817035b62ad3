"""Tasks: classification, regression and multi-label, one file each."""

from collections.abc import Mapping
from typing import Any

from noiselimit.tasks.classification import CLASSIFICATION as CLASSIFICATION
from noiselimit.tasks.classification import Classification as Classification
from noiselimit.tasks.multilabel import MultiLabel as MultiLabel
from noiselimit.tasks.regression import Regression as Regression
from noiselimit.tasks.task import Task as Task

TASKS: Mapping[str, type[Task]] = {kind.name: kind for kind in (Classification, Regression, MultiLabel)}


def task_from_json(value: Mapping[str, Any]) -> Task:
    """Invert `Task.to_json`; a KeyError, TypeError or ValueError if the values were altered."""
    values = dict(value)
    return TASKS[values.pop("name")](**values)
