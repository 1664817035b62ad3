from dataclasses import replace

from noiselimit.report import RunLine, result_sentence


def said(runs: list[RunLine], wrong_share: float | None = None) -> str:
    return result_sentence(runs, wrong_share).replace("\u00a0", " ")


def test_chosen_run_against_cross_entropy(runs: list[RunLine]) -> None:
    assert said(runs, 0.4) == (
        "With 40 % wrong training labels, limit-l at β 10 reaches 98.1 % on clean test labels; "
        "cross-entropy ends at 67.2 %."
    )


def test_several_seeds_give_means(runs: list[RunLine]) -> None:
    second = [replace(run, seed=1, test_accuracy=0.961, last_test_accuracy=0.652) for run in runs[:2]]
    assert said(runs + second) == (
        "Limit-l at β 10 reaches 97.1 % on clean test labels (mean of 2 runs); "
        "cross-entropy ends at 66.2 % (mean of 2 runs)."
    )


def test_another_chosen_run_does_not_enter_the_mean(runs: list[RunLine]) -> None:
    other = replace(runs[2], chosen=True)
    assert "limit-l at β 10 reaches 98.1 % on clean test labels;" in said([*runs, other], 0.4)


def test_cross_entropy_itself_chosen(runs: list[RunLine]) -> None:
    only = [replace(runs[0], chosen=True)]
    assert said(only) == "Cross-entropy reaches 90.0 % on clean test labels; its last epoch ends at 67.2 %."


def test_nothing_known(runs: list[RunLine]) -> None:
    blank = [replace(run, test_accuracy=None, last_test_accuracy=float("nan")) for run in runs]
    assert said(blank) == "Validation chose limit-l, β 10, seed 0."
    assert said([replace(run, chosen=False) for run in blank], 0.2) == (
        "With 20 % wrong training labels, 3 runs were trained."
    )
    assert said([]) == "0 runs were trained."
