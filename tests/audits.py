"""Folders of audits that took no training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from noiselimit.audit.fit import AuditFit
from noiselimit.audit.folder import open_audit, save_audit
from noiselimit.audit.issues import FlagRule, audit_probabilities
from noiselimit.audit.label_model import fit_label_model
from noiselimit.audit.saved import Origin, SavedAudit
from noiselimit.data.catalogue import load_data
from noiselimit.data.reading import Reading
from noiselimit.noise import UniformNoise


def saved(source: str | Path, folder: Path, reading: Reading = Reading(), **more: Any) -> SavedAudit:  # noqa: B008
    """An audit of a file or folder that flags the first four labels, opened again."""
    data = load_data(source, reading=replace(reading, keep_unlabelled=True))
    examples = data.examples if "noise" not in more else UniformNoise(0.3).apply(data.examples, 0)
    p = np.eye(examples.classes)[(examples.labels + (np.arange(len(examples)) < 4)) % examples.classes]
    labels = np.where(examples.labels < 0, None, examples.labels)
    audit = audit_probabilities(labels, p, FlagRule(budget=4))
    origin = Origin.of(str(source), data, reading, None, more.get("noise"))
    fit = AuditFit(fit_label_model([p], examples.labels), ("made up",), len(p), [], [])
    save_audit(folder, audit, fit, replace(data, examples=examples), origin, overwrite=False)
    return open_audit(folder)
