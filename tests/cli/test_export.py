"""noiselimit export: a state dict that an ordinary module takes as it is."""

import json
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from noiselimit import load_run
from noiselimit.networks import get_network


def test_an_ordinary_module_takes_the_weights_and_predicts_alike(command, one_run, table):
    answer = command("export", one_run, "--out", "w.safetensors")
    assert (answer.code, answer.err) == (0, "")
    assert "w.safetensors" in answer.out
    with safetensors.safe_open("w.safetensors", "pt") as file:
        facts = file.metadata()
    shape = tuple(json.loads(facts["input_shape"]))
    module = get_network(facts["network"]).build(shape, len(json.loads(facts["class_names"])))
    module.load_state_dict(safetensors.torch.load_file("w.safetensors"), strict=True)

    inputs = np.load(table)["inputs"]
    mean, std = (torch.tensor(json.loads(facts[name])) for name in ("mean", "std"))
    with torch.no_grad():
        said = module.eval()((torch.from_numpy(inputs) - mean) / std)[0].softmax(-1).numpy()
    np.testing.assert_allclose(said, load_run(one_run).predict_proba(inputs), atol=1e-6)


def test_json(command, one_run):
    told = json.loads(command("export", one_run, "--json").out)
    assert told["weights"] == f"{one_run.name}.safetensors"
    assert Path(told["weights"]).is_file()
    assert told["network"] == "mlp"
    assert told["class_names"] == ["0", "1", "2"]
