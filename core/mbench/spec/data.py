"""The folders of images that `--data` names."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mbench.contract.feed import FEEDS, RESIDENT, WARM, feed_of
from mbench.contract.image_folder import ImageFolder, ImageFolderError, scan
from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive
from mbench.spec.values import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.contract.workload import Workload
    from mbench.spec.protocol import Protocol

__all__ = ["check_data", "folder_of", "settled", "sources"]

PLAIN = {"storage": WARM, "loaders": 0}
"""What the axes of files are set to where batches are resident."""


def sources(value: object) -> tuple[str, ...]:
    """Values of the axis `data`: names of feeds, and absolute paths of folders."""
    return tuple(
        name if name in FEEDS else os.path.abspath(os.path.expanduser(name))
        for name in names(value)
    )


@lru_cache(maxsize=4)
def folder_of(data: str) -> ImageFolder:
    """The images of `data`; raises UsageError if there are none."""
    try:
        return scan(data)
    except ImageFolderError as error:
        raise UsageError(str(error), option="--data") from None


def settled(asked: dict[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a combination of axis values is a case of its own. Resident batches have one kind of
    storage and no loaders, which are set in `asked`.
    """
    if feed_of(asked["data"]) != RESIDENT:
        return True
    own = all(asked[axis] == wanted[axis][0] for axis in PLAIN)
    asked.update(PLAIN)
    return own


def check_data(
    wanted: Mapping[str, Sequence[Any]], workloads: Iterable[Workload], protocol: Protocol
) -> None:
    """Raises UsageError for a folder without images, or with more classes than a model has, for a
    protocol that reads no files, and for options of files where no folder is given.

    `wanted` has the values of each axis.
    """
    models, data = list(workloads), wanted["data"]
    folders = set(data) - set(FEEDS)
    for axis, default in PLAIN.items():
        if not folders and set(wanted[axis]) != {default}:
            raise UsageError(f"--{axis} is about images from files: give a folder with --data",
                             option=f"--{axis}")  # fmt: skip
    if folders and not isinstance(protocol, Adaptive):
        raise UsageError(
            f"--data is for the protocol adaptive, not for {protocol.name}", option="--data"
        )
    for one in data:
        if one in FEEDS:
            continue
        labels = folder_of(one).label_count
        for workload in models:
            classes = getattr(workload.config, "classes", labels)
            if labels > classes:
                raise UsageError(
                    f"{one} has {labels} classes, but {workload.name} has only {classes}",
                    option="--data",
                )
