"""The classifier alone, for use without noiselimit."""

import json
from pathlib import Path

from noiselimit.files import atomic_file
from noiselimit.networks.dropout import without_draws
from noiselimit.runs.folder import save_tensors
from noiselimit.runs.run import Run


def export_classifier(run: Run, path: Path) -> None:
    """Write an ordinary state dict; the metadata name the network, the classes and the input scaling."""
    tensors = {name: tensor.contiguous() for name, tensor in without_draws(run.weights.classifier).items()}
    facts = {"network": run.spec.network, **run.data.to_json()}
    metadata = {name: value if isinstance(value, str) else json.dumps(value) for name, value in facts.items()}
    with atomic_file(path) as temporary:
        save_tensors(tensors, temporary, metadata)
