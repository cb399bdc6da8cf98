"""Splits a folder of images into those that a task trains on and those that are held out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.image_folder import ImageFolder, ImageFolderError, scan

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PartedFolder", "parted"]

TRAIN, HELD_OUT = "train", "val"
"""Folders of ImageNet's usual layout, which torchvision and NVIDIA's examples expect."""
EVERY = 10
"""Without these folders, the last image in every group of this many is held out, class by class,
and at least one image of each class."""


@dataclass(frozen=True)
class PartedFolder:
    """All images of a folder, by their numbers in `files`."""

    files: ImageFolder
    labels: np.ndarray
    """The label of each file, (N,), int64."""
    train: np.ndarray
    """Numbers of the images that are trained on, int64."""
    test: np.ndarray
    """Numbers of the images that are held out, int64."""
    classes: int

    def digest(self) -> str:
        """SHA-256 over the name and size of each file, in order: all that can be read quickly from
        a large folder. Raises OSError.
        """
        return self.files.digest(contents=False)


def parted(folder: str) -> PartedFolder:
    """The images of `folder`, which has train/CLASS/ and val/CLASS/, or only CLASS/.

    Raises ImageFolderError if there are none, if they are not in classes, or if the classes of the
    two parts differ.
    """
    import numpy as np

    root = os.path.abspath(folder)
    if not all(os.path.isdir(os.path.join(root, name)) for name in (TRAIN, HELD_OUT)):
        whole = scan(root)
        check_classes(whole)
        labels = whole.labels()
        begins = [0, *whole.ends[:-1]]
        held = [
            at
            for begin, end in zip(begins, whole.ends)  # noqa: B905 (Python 3.7)
            for at in range(begin, end)
            if (at - begin) % EVERY == EVERY - 1 or (at == end - 1 and end - begin < EVERY)
        ]
        numbers = np.arange(len(whole), dtype=np.int64)
        out = np.isin(numbers, held)
        return PartedFolder(whole, labels, numbers[~out], numbers[out], len(whole.classes))
    parts = [scan(os.path.join(root, name)) for name in (TRAIN, HELD_OUT)]
    for one in parts:
        check_classes(one)
    if parts[0].classes != parts[1].classes:
        only = sorted(set(parts[0].classes) ^ set(parts[1].classes))
        raise ImageFolderError(
            f"{root}: {TRAIN} and {HELD_OUT} have different classes, such as {only[0]}, which is "
            "in only one of them"
        )
    names = [f"{part}/{name}" for part, one in zip((TRAIN, HELD_OUT), parts) for name in one.names]  # noqa: B905
    numbers = np.arange(len(names), dtype=np.int64)
    count = len(parts[0])
    return PartedFolder(
        ImageFolder(root, [names], ()),
        np.concatenate([one.labels() for one in parts]),
        numbers[:count],
        numbers[count:],
        len(parts[0].classes),
    )


def check_classes(folder: ImageFolder) -> None:
    if len(folder.classes) < 2:
        raise ImageFolderError(
            f"{folder.root} needs at least two class folders: put the images of each class into a "
            "folder of its own"
        )
