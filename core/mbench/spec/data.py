"""The folders of images that `--data` names."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from mbench.contract.feed import FEEDS
from mbench.contract.image_folder import ImageFolder, ImageFolderError, scan
from mbench.errors import UsageError
from mbench.spec.values import names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.contract.workload import Workload

__all__ = ["check_data", "folder_of", "sources"]


def sources(value: object) -> tuple[str, ...]:
    """Several values of the axis `data`: names of feeds, and absolute paths of folders."""
    return tuple(
        name if name in FEEDS else os.path.abspath(os.path.expanduser(name))
        for name in names(value)
    )


@lru_cache(maxsize=4)
def folder_of(data: str) -> ImageFolder:
    """Its images; raises UsageError where there are none."""
    try:
        return scan(data)
    except ImageFolderError as error:
        raise UsageError(str(error), option="--data") from None


def check_data(data: Iterable[str], workloads: Iterable[Workload]) -> None:
    """Raises UsageError for a folder without images, or with more classes than a model has."""
    models = list(workloads)
    for one in data:
        if one in FEEDS:
            continue
        labels = folder_of(one).label_count
        for workload in models:
            classes = getattr(workload.config, "classes", labels)
            if labels > classes:
                raise UsageError(
                    f"{one} has {labels} classes, and {workload.name} tells {classes} apart",
                    option="--data",
                )
