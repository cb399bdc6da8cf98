"""The data of a task on photographs: a user's folder, and what the first two layers use instead.

The frameworks' own pipelines read the folder. They decode slightly differently, so the first two
layers use crops that mbench makes itself from the photographs it ships, as defined in
`mbench.proofs.resize`. All frameworks then get the same bits, and the answers do not depend on the
folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import generator
from mbench.contract.image_folder import ImageFolderError
from mbench.contract.parted_folder import parted
from mbench.errors import MbenchError, UsageError, why
from mbench.learning.made import Made
from mbench.proofs.pixels import COUNT, decoded
from mbench.proofs.resize import made
from mbench.workloads.crops import crop_boxes

if TYPE_CHECKING:
    from mbench.learning.task import Task

__all__ = ["crops", "of_photographs"]

BATCHES = 16
"""Batches of the first two layers before examples repeat: layer 1 has fewer in an epoch."""


def of_photographs(task: Task, folder: Path | None) -> Made:
    """Raises UsageError if the folder is missing or unfit, MbenchError if it cannot be read."""
    place = str(folder) if folder is not None else task.data.folder
    if not place or not Path(place).is_dir():
        raise UsageError(
            (f"there is no folder {place}" if place else f"{task.name} needs photographs")
            + ": give --data a folder with train/CLASS/ and val/CLASS/, or only CLASS/; "
            "mbench data make FOLDER --classes 10 makes one to try",
            option="--data",
        )
    try:
        found = parted(place)
        digest = found.digest()
    except ImageFolderError as error:
        raise UsageError(str(error), option="--data") from None
    except OSError as error:
        raise MbenchError(f"{error.filename} cannot be read: {why(error)}") from None
    lesson = task.lesson
    if found.classes > lesson.classes:
        raise UsageError(
            f"{place} has {found.classes} classes, but the model of {task.name} has only "
            f"{lesson.classes}", option="--data",
        )  # fmt: skip
    if len(found.train) < lesson.batch_size:
        raise UsageError(
            f"{place} has {len(found.train)} photographs to train on, but a batch of {task.name} "
            f"takes {lesson.batch_size}: give a larger folder, or set a smaller batch_size in "
            f"your own copy of the task (mbench new task NAME --from {task.name})", option="--data",
        )  # fmt: skip
    return Made(
        arrays=crops(task), train=len(found.train), test=len(found.test), classes=found.classes,
        files=digest,
    )  # fmt: skip


def crops(task: Task) -> dict[str, np.ndarray]:
    """The arrays of the first two layers: random crops of the probes, with random labels."""
    lesson = task.lesson.reduced()
    size = int(lesson.config.get("image_size", task.image_size))
    found = {}
    for part, count in (("train", BATCHES * lesson.batch_size), ("test", lesson.batch_size)):
        key = f"photographs/{part}"
        boxes, flips = crop_boxes(key, count)
        images = [
            made(decoded(at % COUNT, part_of(at)), boxes[at], flip=bool(flips[at]), size=size)
            for at in range(count)
        ]
        whole = np.rint(np.stack(images)).astype(np.uint8)
        found[f"{part}_inputs"] = np.ascontiguousarray(whole.transpose(0, 3, 1, 2))
        labels = generator.integers(f"{key}/labels", (count,), below=lesson.classes)
        found[f"{part}_labels"] = labels.astype(np.uint16)
    return found


def part_of(at: int) -> str:
    """The content of a probe: the two contents alternate."""
    return "ab"[at // COUNT % 2]
