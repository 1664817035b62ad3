"""--config: the same options from a TOML file."""

from pathlib import Path

from noiselimit import load_run


def write(text: str) -> str:
    Path("c.toml").write_text(text)
    return "c.toml"


def only_run(folder: str = "runs"):
    return load_run(next(Path(folder).glob("*-seed*")))


def test_numbers_texts_lists_and_switches(command, table):
    config = write(
        f"data = '{table}'\nmethod = ['ce', 'limit-l']\nbeta = [1, 2.5]\nepochs = 1\nthreads = 1\n"
        "out = 'there'\nquiet = true\njson = false\n"
    )
    answer = command("train", "--config", config)
    assert answer.code == 0
    runs = [load_run(path) for path in Path("there").glob("*-seed*")]
    assert sorted(run.spec.hyper.get("beta", 0) for run in runs) == [0, 1, 2.5]
    assert answer.out.count("there/") == 3 + 1  # the runs and the report


def test_names_may_have_either_dash(command, table):
    config = write(f"data = '{table}'\nbatch-size = 32\nlearning_rate = 0.5\nepochs = 1\n")
    assert command("train", "--config", config).code == 0
    assert only_run().spec.batch_size == 32
    assert only_run().spec.learning_rate == 0.5


def test_flags_win_wherever_they_stand(command, table):
    config = write("data = 'nowhere.npz'\nepochs = 50\nbeta = 3\n")
    arguments = ("--epochs", "1", "--config", config, "--data", table)
    assert command("train", *arguments).code == 0
    assert only_run().spec.epochs == 1
    assert only_run().spec.hyper == {"beta": 3}


def test_switches_and_json(command, table):
    config = write(f"data = '{table}'\nepochs = 1\njson = true\n")
    assert command("train", "--config", config).out.startswith("[\n")
