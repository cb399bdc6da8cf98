"""Where steps get their batches from: resident batches, or images from files.

The parent draws which images a batch holds, how each is cropped and whether it is mirrored. It
passes these choices as numbers, so they do not depend on a framework's random generator. An adapter
reads, decodes, crops, resizes and normalises with its framework's own functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from mbench.contract.image_folder import ImageFolder
    from mbench.contract.tensors import Tensors

__all__ = ["COLD", "FILES", "MEAN", "RESIDENT", "SHARES", "STD", "STORAGE", "WARM", "Pipeline",
           "Plan", "Source", "feed_of", "pixel_box"]  # fmt: skip

RESIDENT, FILES = "resident", "files"
"""Feeds: batches that stay on the device; images that the framework's own input pipeline reads."""
FEEDS = (RESIDENT,)
"""Values of the axis `data` that name a feed. All others are folders of images."""
WARM, COLD = "warm", "cold"
STORAGE = (WARM, COLD)
"""Whether files are in the page cache when a block begins: all that it reads, or none of them."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's red, green and blue, over 255: (pixel / 255 - MEAN) / STD."""
SHARES = 65536
"""The unit of crop boxes is an image's height or width divided by this."""
CENTRE_EIGHTHS = 7
"""The side of a central crop, in eighths of the image's shorter side: 224 of 256."""


def feed_of(data: str) -> str:
    """The feed for a value of the axis `data`."""
    return data if data in FEEDS else FILES


def pixel_box(box: Sequence[int], height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, height and width in pixels of an image's crop box, by integer arithmetic only, so
    that frameworks that compute it in graphs get the same result.

    `box` is top, left, height and width in units of 1 / `SHARES`; height 0 means a central square.
    """
    if not box[2]:
        side = max(1, min(height, width) * CENTRE_EIGHTHS // 8)
        return (height - side) // 2, (width - side) // 2, side, side
    top, left = int(box[0]) * height // SHARES, int(box[1]) * width // SHARES
    tall = max(1, min(int(box[2]) * height // SHARES, height - top))
    wide = max(1, min(int(box[3]) * width // SHARES, width - left))
    return top, left, tall, wide


@dataclass(frozen=True)
class Source:
    """What a pipeline reads, and what its batches are like."""

    files: ImageFolder
    """A sample's id is the position of its file here."""
    labels: np.ndarray
    """The label of each file, (N,), int64."""
    batch_size: int
    size: int
    """Pixels of each side after resizing, which uses half-pixel centres and a triangle filter whose
    support widens with the scale when an image is made smaller ("antialias")."""
    loaders: int
    """Number of processes that decode, or of threads if the framework has no such processes."""


@dataclass(frozen=True)
class Plan:
    """The samples of some batches, in order: S samples, a multiple of the batch size."""

    ids: np.ndarray
    """(S,), int64."""
    boxes: np.ndarray
    """(S, 4), int64, see `pixel_box`."""
    flips: np.ndarray
    """(S,), bool: mirrored from left to right, after the crop."""

    def __len__(self) -> int:
        return len(self.ids)

    def batches(self, size: int) -> Iterator[slice]:
        """The positions of each batch."""
        for first in range(0, len(self.ids), size):
            yield slice(first, first + size)


class Pipeline(Protocol):
    """A framework's own input pipeline, opened for a case by `Benchmark.files`."""

    depth: int
    """The most batches that it prefetches beyond the one last taken."""
    differences: Sequence[str]
    """What it does its own way: its decoder, its loaders."""

    def begin(self, plan: Plan) -> None:
        """Start on the samples of a plan. All batches of the previous plan have been taken."""

    def __next__(self) -> Tensors:
        """The next batch, on the device, in the form that steps take: "images" and "labels"."""

    def ids(self) -> np.ndarray:
        """The ids of the last batch taken, as they came with it through the pipeline."""

    def close(self) -> None:
        """End all processes and threads that it has started."""
