"""MXNet's input pipeline: Gluon's DataLoader, whose processes decode with mx.image, as Gluon's
ImageFolderDataset does.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon.data import DataLoader, Dataset

from mbench.contract.feed import MEAN, STD, pixel_box
from mbench.sdk.inputs import PlannedBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.feed import Plan, Source
    from mbench.sdk.inputs import Key
    from mbench_mxnet.runtime import Benchmark

__all__ = ["Files", "open_files"]

AHEAD = 2
"""Batches that each process prefetches: DataLoader's own default."""


@cache
def shares(before: int, after: int) -> np.ndarray:
    """(after, before): the share of each old pixel in each pixel of a resized image, by a triangle
    filter that widens with the scale.
    """
    scale = before / after
    centres = (np.arange(after) + 0.5) * scale
    distance = np.abs(np.arange(before) + 0.5 - centres[:, None]) / max(1.0, scale)
    found = np.maximum(0.0, 1.0 - distance)
    whole: np.ndarray = (found / found.sum(axis=1, keepdims=True)).astype(np.float32)
    return whole


def resized(image: np.ndarray, size: int) -> np.ndarray:
    """(H, W, 3), uint8 -> (size, size, 3), in 0 to 255."""
    tall, wide, _ = image.shape
    rows = shares(tall, size) @ image.reshape(tall, -1).astype(np.float32)
    found: np.ndarray = np.matmul(shares(wide, size), rows.reshape(size, wide, 3))
    return found


class Samples(Dataset):
    """Samples, by id, crop box and whether they are mirrored."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mean, self.std = np.array(MEAN, np.float32), np.array(STD, np.float32)

    def __getitem__(self, key: Key) -> tuple[np.ndarray, int, int]:
        at, box, flip = key
        # The rest uses NumPy: an operator in a loader uses the threads of the whole process, which
        # wait for each other on its cores, and takes 7 ms.
        image = mx.image.imread(self.source.files.path(at)).asnumpy()
        top, left, tall, wide = pixel_box(box, *image.shape[:2])
        pixels = resized(image[top : top + tall, left : left + wide], self.source.size)
        if flip:
            pixels = pixels[:, ::-1]
        pixels = (pixels / 255 - self.mean) / self.std
        return pixels.transpose(2, 0, 1), int(self.source.labels[at]), at

    def __len__(self) -> int:
        return len(self.source.files)


class Files:
    """Batches of a benchmark's images, from processes that live as long as the case."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.order = PlannedBatches(source.batch_size)
        self.depth = AHEAD * source.loaders + 1  # DataLoader asks for one more before giving one
        self.device = benchmark.compiler.device
        self.kind = benchmark.precision.parameters
        self.loader: Any = DataLoader(
            Samples(source), batch_sampler=self.order, num_workers=source.loaders
        )
        self.batches: Iterator[Any] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by gluon.data.DataLoader with {source.loaders} processes, decoded by "
            "mx.image.imread, and resized by NumPy's matrix products with the weights of a filter: "
            "mx.image.imresize has no antialiasing"
        ]

    def begin(self, plan: Plan) -> None:
        self.order.plan = plan
        self.batches = iter(self.loader)

    def __next__(self) -> Mapping[str, nd.NDArray]:
        assert self.batches is not None, "begin comes first"
        images, labels, ids = next(self.batches)
        self._ids = ids.asnumpy()
        return {
            "images": images.as_in_context(self.device).astype(self.kind, copy=False),
            "labels": labels.as_in_context(self.device).astype("int32"),
        }

    def ids(self) -> np.ndarray:
        return self._ids

    def close(self) -> None:
        """DataLoader ends its processes when it is deleted."""
        self.batches = self.loader = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
