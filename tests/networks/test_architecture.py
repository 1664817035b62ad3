"""What an Architecture promises before it is built; the contract test and its neighbours build it."""

import subprocess
import sys
from pathlib import Path

import pytest

from noiselimit.errors import InputError
from noiselimit.networks import Architecture


def test_equal_settings_are_equal_and_can_be_grouped() -> None:
    assert Architecture("mlp", dropout=0) == Architecture("mlp")
    assert len({Architecture("mlp"), Architecture("mlp"), Architecture("mlp", head_bias=False)}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mnist_cnn"}, "unknown network 'mnist_cnn': did you mean 'mnist-cnn'"),
        ({"name": "resnet34"}, "did you mean 'resnet-34'"),
        ({"name": "mlp", "dropout": 1}, "dropout is 1: give a number"),
        ({"name": "mlp", "features": "vit"}, "features 'vit' is no dotted path"),
        ({"name": "a.b:c", "dropout": 0.5}, "put dropout into your own network"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Architecture(**arguments)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_inputs_are_checked_by_the_network() -> None:
    with pytest.raises(InputError, match="takes images"):
        Architecture("resnet-18").check((6,), 3)
    Architecture("resnet-18").check((3, 32, 32), 3)


def test_naming_code_does_not_run_it(tmp_path: Path) -> None:
    """Neither a spec nor an Architecture that mentions a dotted path imports it; checking does."""
    (tmp_path / "trap.py").write_text("print('ran', flush=True)\nraise KeyboardInterrupt\n")
    script = (
        "import noiselimit.runs.spec\nfrom noiselimit.networks import Architecture\n"
        "it = Architecture('trap:make', features='trap:make')\n"
        "print('named', flush=True)\nit.check((3,), 2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.stdout == "named\nran\n"
