"""noiselimit export; tests/runs/test_folder.py shows what the file holds."""

import json
from pathlib import Path


def test_text_and_json(command, one_run):
    answer = command("export", one_run, "--out", "w.safetensors")
    assert (answer.code, answer.err) == (0, "")
    assert "w.safetensors" in answer.out
    told = json.loads(command("export", one_run, "--json").out)
    assert told["weights"] == f"{one_run.name}.safetensors"
    assert Path(told["weights"]).stat().st_size == Path("w.safetensors").stat().st_size
    assert told["network"] == "mlp"
    assert told["class_names"] == ["0", "1", "2"]
