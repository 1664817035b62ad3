"""Case number n of a seed: always the same bad file for the same reader."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from format_mutations import mutated
from readers import READERS


@dataclass(frozen=True)
class Case:
    """A reader, one of its good files, and what that is replaced by."""

    reader: str
    folder: str
    file: str
    content: bytes

    def read(self, folder: Path) -> None:
        """Have the reader read its folder."""
        READERS[self.reader].read(folder, folder / self.file)


def make(samples: Path, seed: int, number: int) -> Case:
    """Readers take turns."""
    name = list(READERS)[number % len(READERS)]
    reader = READERS[name]
    random = Random(f"{seed}/{number}")
    place = samples / reader.folder
    files = sorted(path for path in place.glob(reader.files) if path.is_file())
    path = random.choice(files)
    others = [other.read_bytes() for other in files if other.suffix == path.suffix]
    content = mutated(path, path.read_bytes(), others, random)
    return Case(name, reader.folder, str(path.relative_to(place)), content)


def warm_up(samples: Path) -> None:
    """Read every good file once: good ones must be read, and what is imported then does not count later."""
    for reader in READERS.values():
        place = samples / reader.folder
        for path in sorted(place.glob(reader.files)):
            if path.is_file():
                reader.read(place, path)
