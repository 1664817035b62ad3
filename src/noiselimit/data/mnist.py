"""MNIST: handwritten digits in four idx files, read from a folder or fetched from public mirrors."""

from collections.abc import Sequence
from pathlib import Path

from noiselimit.data.download import Progress, Published, download, has_digest
from noiselimit.data.examples import DataSet
from noiselimit.data.idx import find_idx_file, read_idx_folder

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
# The digest is that of the decompressed file: mirrors compress differently.
FILES = {
    ("train-images", 3): "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ("train-labels", 1): "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ("t10k-images", 3): "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ("t10k-labels", 1): "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MOST_BYTES = 64 * 2**20  # the largest file has 47 MB when decompressed
REMEDY = "put MNIST's four idx files in a folder by other means and name it with --data-dir."


def mnist(folder: Path) -> DataSet:
    """60,000 pictures [1, 28, 28] uint8 of the ten digits, and 10,000 in the test part."""
    return read_idx_folder(folder, "mnist")


def download_mnist(folder: Path, mirrors: Sequence[str] = MIRRORS, progress: Progress | None = None) -> None:
    """Fetch what is not yet in the folder, each file from the first mirror that has it whole."""
    for (part, dimensions), digest in FILES.items():
        present = find_idx_file(folder, part, dimensions)
        if present is None or not has_digest(present, digest, MOST_BYTES, unpacked=present.suffix == ".gz"):
            name = f"{part}-idx{dimensions}-ubyte.gz"
            file = Published(name, digest, tuple(mirrors), MOST_BYTES, "MNIST", REMEDY, unpacked=True)
            download(file, folder / name, progress)
