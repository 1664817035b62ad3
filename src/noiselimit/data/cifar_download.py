"""The binary versions of CIFAR-10 and CIFAR-100 from their authors' page, which publishes the MD5 sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from noiselimit.data.archives import extract
from noiselimit.data.cifar import Cifar, find_version
from noiselimit.data.download import Progress, Published, fetched, has_digest

MIRRORS = ("https://www.cs.toronto.edu/~kriz/",)
MOST_BYTES = 256 * 2**20  # the archives have 170 MB, and CIFAR-100's training file 154 MB
REMEDY = "unpack the archive in a folder by other means and name it with --data-dir."


@dataclass(frozen=True)
class Archive:
    """An archive of a binary version and the MD5 sums of its files of examples."""

    file: Published
    digests: Mapping[str, str]


ARCHIVES = {
    "cifar10": Archive(
        Published(
            "cifar-10-binary.tar.gz",
            "c32a1d4ab5d03f1284b67883e8d87530",
            MIRRORS,
            MOST_BYTES,
            "CIFAR-10",
            REMEDY,
        ),
        {
            "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
            "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
            "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
            "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
            "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
            "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
        },
    ),
    "cifar100": Archive(
        Published(
            "cifar-100-binary.tar.gz",
            "03b5dce01913d631647c71ecec9e9cb8",
            MIRRORS,
            MOST_BYTES,
            "CIFAR-100",
            REMEDY,
        ),
        {
            "train.bin": "6172c7755cfe09b2fe270c85cebc1b15",
            "test.bin": "4499cfba6c016c1be1438163640a0898",
        },
    ),
}


def download_cifar(cifar: Cifar, folder: Path, progress: Progress | None = None) -> None:
    """Fetch the binary version, unless all of it is there or the python version is."""
    version, place = find_version(cifar, folder) or (cifar.binary, folder / cifar.binary.folder)
    archive = ARCHIVES[cifar.name]
    if version is cifar.python or _is_whole(place, archive):
        return
    names = (*archive.digests, cifar.binary.names)
    with fetched(archive.file, progress) as content:
        targets = {f"{cifar.binary.folder}/{name}": place / name for name in names}
        extract(content, targets, MOST_BYTES, archive.file.name)


def _is_whole(place: Path, archive: Archive) -> bool:
    return all(has_digest(place / name, digest, MOST_BYTES) for name, digest in archive.digests.items())
