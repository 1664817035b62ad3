"""The command lines that are killed, each a second or two long and with files of every kind."""

from dataclasses import dataclass
from pathlib import Path

WHEN = ("at any moment", "between two changes on disk", "in the middle of a file")
"""Moments at which a command is killed."""

TRAIN = (
    "train --data digits --noise uniform:0.4 --method limit-l,limit-l+init,ce,fw --beta 3 --epochs 6 "
    "--patience 2 --train-size 150 --batch-size 64 --network small-cnn --out runs"
)
AUDIT = "audit digits --noise uniform:0.2 --beta 3 --seed 0,1 --epochs 4 --network linear --out found"
DEMO = "demo --out shown --device cpu --quiet"
DEMO_EPOCHS = 3
"""Instead of forty."""


@dataclass(frozen=True)
class Command:
    """A command line, and how it may be typed."""

    name: str
    typed: str
    checkpoints: bool = True
    """Whether it keeps checkpoints; then after every epoch."""
    resumed: str | None = None
    """Another way to go on."""

    threads: tuple[int, ...] = (1, 2)
    """Numbers of threads that make no difference; 0: it cannot be told."""
    moments: tuple[str, ...] = WHEN
    """When it may be killed."""

    def is_done(self, folder: Path) -> str:
        """What the command says when it finds that it had done everything before it was killed, if it had."""
        done = self.name == "audit" and (folder / "found").exists()
        return "this folder exists" if done and not (folder / ".found.unfinished").exists() else ""

    def arguments(self, threads: int, *, again: bool = False) -> list[str]:
        """As typed at first, or `again` in the other way, if there is one."""
        if again and self.resumed is not None:
            return self.resumed.split()
        often = ["--checkpoints", "0"] if self.checkpoints else []
        told = ["--threads", str(threads)] if threads else []
        return [*self.typed.split(), *told, *often]


COMMANDS = {
    "train": Command("train", TRAIN, resumed="train --resume runs"),
    "audit": Command("audit", AUDIT),
    "demo": Command("demo", DEMO, checkpoints=False, threads=(0,)),
}


def import_everything() -> None:
    """What the commands will import, so that forked children need not; no thread is started."""
    import importlib

    for name in (
        "noiselimit.cli.main",
        "noiselimit.training",
        "noiselimit.cli.demo",
        "noiselimit.report",
        "noiselimit.report.runs",
        "noiselimit.audit.fit",
        "noiselimit.audit.report",
        "noiselimit.cli.audit",
        "noiselimit.cli.tables",
        "pyarrow.parquet",
        "pyarrow.csv",
        "rich.progress",
        "sklearn.datasets",
    ):
        importlib.import_module(name)
    from noiselimit.cli import demo

    seeds, _, *rest = demo.run_demo.__defaults__ or ()
    demo.run_demo.__defaults__ = (seeds, DEMO_EPOCHS, *rest)
