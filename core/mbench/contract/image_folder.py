"""Finds the images of a folder, in classes as ImageNet has them or in one flat folder."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

__all__ = ["SUFFIXES", "ImageFolder", "ImageFolderError", "scan"]

SUFFIXES = (".jpg", ".jpeg", ".JPEG", ".JPG")
FLAT_CLASSES = 1000
"""Labels of a flat folder: file i has label i modulo this."""


class ImageFolderError(ValueError):
    """The folder has no images that can be read; says why, and what to do."""


@dataclass(frozen=True)
class ImageFolder:
    """The images of a folder, in the order of their names."""

    root: str
    """Absolute."""
    names: Sequence[str]
    """Of each file, relative to the root."""
    ends: Sequence[int]
    """Of each class, how many files it and those before it have; empty of a flat folder."""
    classes: Sequence[str]
    """Names of the classes that have files; empty of a flat folder."""
    empty: Sequence[str] = ()
    """Folders of classes without any image."""

    def __len__(self) -> int:
        return len(self.names)

    def path(self, at: int) -> str:
        return os.path.join(self.root, self.names[at])

    def labels(self) -> np.ndarray:
        """The class of each file, (N,), int64; of a flat folder its number modulo 1000."""
        import numpy as np

        if not self.classes:
            return np.arange(len(self.names), dtype=np.int64) % FLAT_CLASSES
        sizes = [end - begin for begin, end in zipped((0, *self.ends[:-1]), self.ends)]
        return np.repeat(np.arange(len(self.classes), dtype=np.int64), sizes)

    @property
    def label_count(self) -> int:
        """Labels are below it."""
        return len(self.classes) or min(FLAT_CLASSES, len(self.names))

    def names_digest(self) -> str:
        """SHA-256 of all names, in order: each, and a line feed."""
        digest = hashlib.sha256()
        for first in range(0, len(self.names), 4096):
            text = "\n".join(self.names[first : first + 4096]) + "\n"
            digest.update(text.encode(errors="surrogateescape"))
        return digest.hexdigest()

    def digest(self) -> str:
        """SHA-256 over all files: of each its name, a zero byte, its size as text, a zero byte and
        its content. Raises OSError.
        """
        digest = hashlib.sha256()
        for at, name in enumerate(self.names):
            with open(self.path(at), "rb") as file:
                content = file.read()
            digest.update(name.encode(errors="surrogateescape") + b"\0%d\0" % len(content))
            digest.update(content)
        return digest.hexdigest()


def scan(folder: str) -> ImageFolder:
    """The images below `folder`: those in folders of classes, or if there are none, its own.

    Raises ImageFolderError where there are none at all, or it cannot be read.
    """
    root = os.path.abspath(folder)
    try:
        files, folders = entries(root)
        names, ends, classes, empty = [], [], [], []
        for name in folders:
            own, _ = entries(os.path.join(root, name))
            if not own:
                empty.append(name)
                continue
            names += [f"{name}/{one}" for one in own]
            ends.append(len(names))
            classes.append(name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ImageFolderError(f"{error.filename or root}: {reason}") from None
    if names:
        return ImageFolder(root, names, ends, classes, empty)
    if not files:
        raise ImageFolderError(
            f"{root} has no JPEG files: name a folder of images or of folders of them, or let "
            f"mbench data make {folder} make one"
        )
    return ImageFolder(root, files, (), ())


def entries(folder: str) -> tuple[list[str], list[str]]:
    """The names of the images and of the folders in it, sorted."""
    files, folders = [], []
    for entry in scanned(folder):
        if entry.name.startswith("."):
            continue
        if entry.name.endswith(SUFFIXES):
            files.append(entry.name)
        elif entry.is_dir():
            folders.append(entry.name)
    return sorted(files), sorted(folders)


def scanned(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        yield from found
