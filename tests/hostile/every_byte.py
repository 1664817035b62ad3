"""A file with each of its bytes changed in turn, and cut before each, read in processes that may die.

Called as `python every_byte.py FILE WORK FIRST`, it reads the cases from FIRST on and tells of each.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from fuzzing import HERE, SOURCE

CHANGES = (0x01, 0x04, 0x40, 0xFF)


def changed(content: bytes) -> Iterator[bytes]:
    """Always in the same order."""
    for place, byte in enumerate(content):
        yield content[:place]
        for bits in CHANGES:
            yield content[:place] + bytes([byte ^ bits]) + content[place + 1 :]


def outcomes(path: Path, work: Path) -> list[str]:
    """Of each case: read, refused, or what else happened; after one that ends the process another goes on."""
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}", "OMP_NUM_THREADS": "1"}
    total = sum(1 for _ in changed(path.read_bytes()))
    found: list[str] = []
    while len(found) < total:
        command = [sys.executable, __file__, str(path), str(work), str(len(found))]
        ended = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=300)
        found += [json.loads(line) for line in ended.stdout.splitlines()]
        if len(found) < total:
            found.append(f"process ended ({ended.returncode}): {ended.stderr.decode()[:300]}")
    return found


def main(path: Path, work: Path, first: int) -> None:
    """A line of JSON for each case."""
    from guard import Watch, outcome

    from noiselimit.data.table_file import read_table_file

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = Watch()
    file = work / f"changed{path.suffix}"
    for number, content in enumerate(changed(path.read_bytes())):
        if number < first:
            continue
        file.write_bytes(content)
        kind, place = outcome(lambda: read_table_file(file), watch)
        print(json.dumps(kind + (place and f": {place}")), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
