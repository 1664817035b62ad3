"""Seconds and memory of large audits: rows, classes, a messy table, probabilities, embedding images."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import torch
import typer
from PIL import Image
from sklearn.metrics import roc_auc_score

from benchmarks.peers import Flags
from benchmarks.results import Quick, Threads, environment
from noiselimit.errors import unknown
from noiselimit.files import make_folder, write_json
from noiselimit.machine import available_cores

WRONG = 0.2
PER_FILE = 100_000
"""Rows of each file of a streamed data set."""


@dataclass(frozen=True)
class Clouds:
    """Gaussian clouds, a fifth of whose labels are wrong."""

    rows: int
    features: int
    classes: int
    spread: float
    """Standard deviation of the clouds' centres, each cloud having 1."""
    ending: str


@dataclass(frozen=True)
class Messy:
    """Identifiers, dates, missing cells, words among numbers and many cities; 5 % of the labels are wrong."""

    rows: int
    cities: int
    ending: str = ".csv"


@dataclass(frozen=True)
class Photos:
    """Small images in two class folders, to be embedded only."""

    images: int


@dataclass(frozen=True)
class Probabilities:
    """Class probabilities in half precision, mapped from a file; a tenth of the labels is wrong."""

    rows: int
    classes: int


@dataclass(frozen=True)
class Stream:
    """Clouds in Parquet files of 100,000 rows each, audited from a file of features (--stream on --fast)."""

    rows: int
    features: int = 64
    classes: int = 10
    compared: bool = False
    """Whether the audit is compared with one in memory."""


Case = Clouds | Messy | Photos | Probabilities | Stream
FULL: dict[str, tuple[Case, ...]] = {
    "messy": (Messy(100_000, 10_000),),
    "rows": (Clouds(1_000_000, 50, 10, 0.5, ".parquet"),),
    "classes": (Clouds(100_000, 50, 1000, 1.0, ".npz"),),
    "images": (Photos(5_000), Photos(20_000), Photos(100_000)),
    "probabilities": (
        *(Probabilities(rows, 100) for rows in (1_000_000, 2_000_000, 5_000_000)),
        Probabilities(50_000_000, 5),
    ),
    "equal": (Stream(100_000, compared=True),),
    "stream": (Stream(1_000_000), Stream(3_000_000), Stream(10_000_000)),
}
QUICK: dict[str, tuple[Case, ...]] = {
    "messy": (Messy(2_000, 50),),
    "rows": (Clouds(2_000, 5, 3, 0.5, ".parquet"),),
    "classes": (Clouds(2_000, 5, 20, 1.0, ".npz"),),
    "images": (Photos(40),),
    "probabilities": (Probabilities(2_000, 10),),
    "equal": (Stream(2_000, 5, 3, compared=True),),
    "stream": (Stream(2_000, 5, 3),),
}
LAUNCH = """
import json, resource, subprocess, sys, time
started, anonymous = time.perf_counter(), 0
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
while child.poll() is None:
    try:
        with open(f"/proc/{child.pid}/status") as status:
            anonymous = max(anonymous, int(status.read().partition("RssAnon:")[2].split()[0]))
    except (OSError, IndexError):
        pass
    time.sleep(0.1)
if child.returncode:
    sys.exit(child.returncode)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, computed = time.perf_counter() - started, used.ru_utime + used.ru_stime
found = {"seconds": round(seconds, 1), "processor_seconds": round(computed, 1)}
found["peak_anonymous_mib"] = round(anonymous / 1024, 1)
print(json.dumps({**found, "peak_memory_mib": round(used.ru_maxrss / 1024, 1)}))
"""
"""Runs a command from a small process, because the peak memory of a new process is at least its parent's."""
EMBED = """
import sys
from pathlib import Path
from noiselimit.data.catalogue import load_data
from noiselimit.data.reading import Reading
from noiselimit.features.pictures import PictureFeatures
folder, threads = sys.argv[1:]
features = PictureFeatures("efficientnet-lite0", device="cpu", side=32)
data = load_data(folder, reading=Reading(features_side=features.side))
features.apply(data, cache=Path(folder, ".cache"), threads=int(threads))
"""
FIND = """
import json, re, resource, sys, threading, time
from pathlib import Path
import numpy as np
from noiselimit import find_label_issues
folder, ended, peak = Path(sys.argv[1]), threading.Event(), 0.0
def watch():
    global peak
    while not ended.wait(0.02):
        peak = max(peak, float(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
watcher = threading.Thread(target=watch)
watcher.start()
started, computed = time.perf_counter(), time.process_time()
labels = np.load(folder / "labels.npy")
table = find_label_issues(labels, np.load(folder / "probabilities.npy", mmap_mode="r"))
found = {"seconds": time.perf_counter() - started, "processor_seconds": time.process_time() - computed}
ended.set()
watcher.join()
found["peak_memory_mib"] = peak / 1024
found["peak_with_file_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
found["table_mib"] = float(table.memory_usage().sum()) / 2**20
found = {name: round(value, 1) for name, value in found.items()}
print(json.dumps({**found, "flagged": float(table["is_label_issue"].mean())}))
"""
"""The peak memory leaves out the mapped file, whose pages belong to the system's cache."""
BLOCK = 100_000


def make_probabilities(case: Probabilities, folder: Path) -> float:
    """Write probabilities.npy and labels.npy; returns the share of wrong labels.

    The probabilities repeat after a block of rows. The labels do not.
    """
    generator, shape = np.random.default_rng(0), (min(BLOCK, case.rows), case.classes)
    right = generator.integers(0, case.classes, shape[0])
    logits = generator.standard_normal(shape, dtype=np.float32)
    logits[np.arange(shape[0]), right] += 6
    odds = np.exp(logits)
    block = (odds / odds.sum(1, keepdims=True)).astype(np.float16)
    header = {"descr": "<f2", "fortran_order": False, "shape": (case.rows, case.classes)}
    labels = np.tile(right, case.rows // shape[0])
    with (folder / "probabilities.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(case.rows // shape[0]):
            file.write(block.tobytes())
    wrong = np.flatnonzero(generator.random(case.rows, np.float32) < 0.1)
    labels[wrong] = (labels[wrong] + generator.integers(1, case.classes, len(wrong))) % case.classes
    np.save(folder / "labels.npy", labels)
    return len(wrong) / case.rows


def make_messy(messy: Messy, path: Path) -> Flags:
    """Write the table; [rows] which labels are wrong, which is not in the file."""
    generator, rows = np.random.default_rng(0), messy.rows
    levels = np.array(["bronze", "silver", "gold", "platinum"])
    right = generator.integers(0, len(levels), rows)

    def some(share: float) -> Flags:
        return generator.random(rows) < share

    def dates(first: str, seconds: Any) -> "pd.Series[Any]":
        return pd.Series(pd.Timestamp(first) + pd.to_timedelta(seconds, "s"))

    frame = pd.DataFrame({"customer": [generator.bytes(8).hex() for _ in range(rows)]})
    frame["order"] = np.arange(rows) + 100_000
    centres = generator.normal(size=(len(levels), 12))
    for place in range(12):
        values = pd.Series(generator.normal(size=rows) + centres[right, place]).round(4)
        frame[f"x{place}"] = values.mask(some(0.3)) if place % 3 == 0 else values
    frame["signup"] = dates("2019-01-01", 86_400 * (generator.integers(0, 700, rows) + 60 * right))
    frame["seen"] = dates("2021-01-01", generator.integers(0, 365 * 86_400, rows)).mask(some(0.3))
    syllables = generator.choice(
        [first + second for first in "bdklmnrst" for second in "aeiou"], (messy.cities, 4)
    )
    cities = np.array(["".join(parts).title() for parts in syllables])
    size = (messy.cities * generator.random(rows) ** 3).astype(int)  # few large cities and many small ones
    frame["city"] = cities[(size - size % len(levels) + right) % messy.cities]
    frame["member"] = some(0.3) & (right > 0)
    frame["country"] = "NL"
    income = (10 * generator.normal(size=rows) + 5 * right).round(2).astype(str)
    frame["income"] = pd.Series(income, dtype=object).mask(some(0.03), "unknown").mask(some(0.2))
    wrong = some(0.05)
    frame["label"] = levels[(right + wrong * generator.integers(1, len(levels), rows)) % len(levels)]
    frame.to_csv(path, index=False)
    return wrong


def make_clouds(clouds: Clouds, path: Path) -> Flags:
    """Write the data; [rows] which labels are wrong, which is not in the file."""
    generator = np.random.default_rng(0)
    right = generator.integers(0, clouds.classes, clouds.rows)
    centres = generator.normal(size=(clouds.classes, clouds.features)) * clouds.spread
    inputs = generator.standard_normal((clouds.rows, clouds.features), dtype=np.float32)
    inputs += centres.astype(np.float32)[right]
    wrong = generator.random(clouds.rows) < WRONG
    shift = generator.integers(1, clouds.classes, clouds.rows)
    given = np.where(wrong, (right + shift) % clouds.classes, right)
    if path.suffix == ".npz":
        np.savez(path, X=inputs, y=given)
    else:
        frame = pd.DataFrame(inputs, columns=[f"x{number}" for number in range(clouds.features)])
        frame.assign(label=given).to_parquet(path)
    return np.asarray(wrong)


def make_photos(photos: Photos, folder: Path) -> None:
    """Write images of 48 × 48 pixels, all different."""
    generator = np.random.default_rng(0)
    for name in ("cat", "dog"):
        make_folder(folder / name)
    for number in range(photos.images):
        coarse = Image.fromarray(generator.integers(0, 256, (4, 4, 3), np.uint8))
        coarse.resize((48, 48)).save(folder / ("cat", "dog")[number % 2] / f"{number}.jpg")


def make_stream(stream: Stream, folder: Path) -> Flags:
    """Write the files; [rows] which labels are wrong, which is not in them."""
    centres = np.random.default_rng(0).normal(size=(stream.classes, stream.features)) * 0.4
    wrong: list[Flags] = []
    for start in range(0, stream.rows, PER_FILE):
        generator, count = np.random.default_rng([1, start]), min(PER_FILE, stream.rows - start)
        right = generator.integers(0, stream.classes, count)
        inputs = generator.standard_normal((count, stream.features), np.float32)
        inputs += centres.astype(np.float32)[right]
        wrong.append(generator.random(count) < WRONG)
        given = (right + wrong[-1] * generator.integers(1, stream.classes, count)) % stream.classes
        columns = {f"x{number}": inputs[:, number] for number in range(stream.features)}
        table = pyarrow.table({**columns, "label": given})
        pyarrow.parquet.write_table(table, folder / f"part-{start // PER_FILE:04d}.parquet")
    return np.concatenate(wrong)


def measure_stream(stream: Stream, folder: Path, threads: int) -> dict[str, Any]:
    """One audit of streamed features, and the largest differences from one in memory."""
    data = make_folder(folder / "data")
    wrong = make_stream(stream, data)
    audited: list[tuple[dict[str, Any], pd.DataFrame]] = []
    for place in ("on", "off") if stream.compared else ("on",):
        out = folder / f"audit-{place}"
        options = ["--stream", place, "--fast", "--out", out, "--device", "cpu", "--threads", threads]
        used = run(["-m", "noiselimit", "audit", data, *options, "--quiet"])
        parts = sorted((out / "label_issues.parquet").glob("*.parquet"))
        columns = ["is_label_issue", "error_probability"]
        audited.append((used, pd.concat([pd.read_parquet(part, columns=columns) for part in parts])))
    used, table = audited[0]
    found = {
        **asdict(stream),
        **used,
        "wrong": float(wrong.mean()),
        "flagged": float(table["is_label_issue"].mean()),
        "auroc": float(roc_auc_score(wrong, table["error_probability"])),
    }
    if stream.compared:
        used, other = audited[1]
        difference = (table["error_probability"] - other["error_probability"]).abs()
        found["in_memory"] = used
        found["largest_difference"] = float(difference.max())
        found["other_flags"] = int((table["is_label_issue"] != other["is_label_issue"]).sum())
    return found


def run(command: Sequence[object]) -> dict[str, Any]:
    """Seconds and peak memory of a Python command, as the system reports them."""
    words = [sys.executable, "-c", LAUNCH, sys.executable, *map(str, command)]
    return dict(
        json.loads(subprocess.run(words, stdout=subprocess.PIPE, env=one_thread(), check=True).stdout)
    )


def one_thread() -> dict[str, str]:
    """The environment of a process with one thread of arithmetic."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def measure(case: Case, threads: int) -> dict[str, Any]:
    """One audit with its defaults; of images only embedding, and no training with probabilities."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(case, Probabilities):
            wrong_share = make_probabilities(case, Path(folder))
            command = [sys.executable, "-c", FIND, folder]
            answer = subprocess.run(command, stdout=subprocess.PIPE, env=one_thread(), check=True).stdout
            return {**asdict(case), **json.loads(answer), "wrong": wrong_share}
        if isinstance(case, Stream):
            return measure_stream(case, Path(folder), threads)
        if isinstance(case, Photos):
            make_photos(case, Path(folder))
            return {**asdict(case), **run(["-c", EMBED, folder, threads])}
        data, out = Path(folder, f"data{case.ending}"), Path(folder, "audit")
        wrong = make_messy(case, data) if isinstance(case, Messy) else make_clouds(case, data)
        options = ["--out", out, "--device", "cpu", "--threads", threads, "--quiet"]
        used = run(["-m", "noiselimit", "audit", data, *options])
        table = pd.read_parquet(out / "label_issues.parquet")
        return {
            **asdict(case),
            **used,
            "wrong": float(wrong.mean()),
            "flagged": float(table["is_label_issue"].mean()),
            "auroc": float(roc_auc_score(wrong, table["gap"])),
        }


def main(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON file to write; other parts are kept.")
    ] = Path("audit-scale.json"),
    parts: Annotated[
        str, typer.Option(metavar="NAME,...", help="Parts to measure.")
    ] = "messy,rows,classes,images,probabilities",
    threads: Threads = None,
    quick: Quick = False,
) -> None:
    """Measure time and memory of large audits, on the CPU.

    Parts: a messy table, a million rows, a thousand classes, images that are only embedded, and up to 50
    million rows of probabilities, for which nothing is trained. If named: an audit that is streamed and one
    in memory (`equal`), and audits of up to ten million rows (`stream`).
    """
    threads, chosen = threads or available_cores(), parts.split(",")
    for part in chosen:
        if part not in FULL:
            raise unknown("part", part, FULL)
    rows = json.loads(out.read_text("utf-8"))["rows"] if out.exists() else []
    for part in chosen:
        facts = {"part": part, **environment(torch.device("cpu")), "threads": threads}
        found: list[dict[str, Any]] = []
        for case in (QUICK if quick else FULL)[part]:
            found.append({**facts, **measure(case, threads)})
            rows = [row for row in rows if row["part"] != part] + found
            write_json(out, {"rows": rows})
    print(pd.DataFrame(rows).drop(columns=["versions"]).to_string(index=False))
