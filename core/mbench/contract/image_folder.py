"""Finds the images of a folder, either in class folders like ImageNet's or in one flat folder."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

__all__ = ["SUFFIXES", "ImageFolder", "ImageFolderError", "scan"]

SUFFIXES = (".jpg", ".jpeg", ".JPEG", ".JPG")
FLAT_CLASSES = 1000
"""Number of labels of a flat folder: file i has label i modulo this."""


class ImageFolderError(ValueError):
    """The folder has no usable images; the message says why, and what to do."""


@dataclass(frozen=True)
class ImageFolder:
    """The images of a folder, ordered by class and by name within each class.

    There may be a million files, so only their names are kept, once each.
    """

    root: str
    """Absolute path of the folder."""
    groups: Sequence[Sequence[str]]
    """File names of each class; for a flat folder, one group with all of them."""
    classes: Sequence[str]
    """Names of the classes that have files; empty for a flat folder."""
    empty: Sequence[str] = ()
    """Class folders without any image."""
    ends: Sequence[int] = ()
    """For each group, the number of files in it and in all groups before it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ends", list(accumulate(map(len, self.groups))))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def name(self, at: int) -> str:
        """The name of a file, relative to the root."""
        if not 0 <= at < len(self):
            raise IndexError(at)
        group = bisect_right(self.ends, at)
        name = self.groups[group][at - self.ends[group]]
        return f"{self.classes[group]}/{name}" if self.classes else name

    @property
    def prefixes(self) -> Sequence[str]:
        """The prefix of the names of each group."""
        return [f"{name}/" for name in self.classes] or [""]

    @property
    def names(self) -> Iterator[str]:
        """The names of all files, relative to the root."""
        for prefix, group in zipped(self.prefixes, self.groups):
            for name in group:
                yield prefix + name

    def path(self, at: int) -> str:
        return os.path.join(self.root, self.name(at))

    def labels(self) -> np.ndarray:
        """The class of each file, (N,), int64; for a flat folder, its number modulo 1000."""
        import numpy as np

        if not self.classes:
            return np.arange(len(self), dtype=np.int64) % FLAT_CLASSES
        sizes = [len(group) for group in self.groups]
        return np.repeat(np.arange(len(self.classes), dtype=np.int64), sizes)

    @property
    def label_count(self) -> int:
        """Number of labels: each label is below it."""
        return len(self.classes) or min(FLAT_CLASSES, len(self))

    def names_digest(self) -> str:
        """SHA-256 of all names, in order, each followed by a line feed."""
        digest = hashlib.sha256()
        for prefix, group in zipped(self.prefixes, self.groups):
            text = prefix + f"\n{prefix}".join(group) + "\n"
            digest.update(text.encode(errors="surrogateescape"))
        return digest.hexdigest()

    def digest(self, *, contents: bool = True) -> str:
        """SHA-256 over all files: for each its name, a zero byte, its size as text, a zero byte and
        its content, which may be left out. Raises OSError.
        """
        digest = hashlib.sha256()
        for name in self.names:
            path = os.path.join(self.root, name)
            content = b""
            if contents:
                with open(path, "rb") as file:
                    content = file.read()
            size = len(content) if contents else os.stat(path).st_size
            digest.update(name.encode(errors="surrogateescape") + b"\0%d\0" % size)
            digest.update(content)
        return digest.hexdigest()


def scan(folder: str) -> ImageFolder:
    """The images below `folder`: those in class folders, or if there are none, its own.

    Raises ImageFolderError if there are none at all, or if the folder cannot be read.
    """
    root = os.path.abspath(folder)
    groups, classes, empty = [], [], []
    try:
        listed = os.listdir(root)
        files = images(listed)
        known = set(files)
        for name in sorted(listed):
            place = os.path.join(root, name)
            if name.startswith(".") or name in known or not os.path.isdir(place):
                continue
            own = images(os.listdir(place))
            if not own:
                empty.append(name)
                continue
            groups.append(own)
            classes.append(name)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ImageFolderError(f"{error.filename or root}: {reason}") from None
    if groups:
        return ImageFolder(root, groups, classes, empty)
    if not files:
        raise ImageFolderError(
            f"{root} has no JPEG files: give a folder of images, or one with a folder of "
            "images for each class; mbench data make FOLDER makes one"
        )
    return ImageFolder(root, [files], ())


def images(names: Sequence[str]) -> list[str]:
    """The names of image files, sorted. Files are not opened: there may be millions."""
    return sorted(name for name in names if name.endswith(SUFFIXES) and name[0] != ".")
