"""MXNet's input pipeline: Gluon's DataLoader, whose processes decode by mx.image, as Gluon's
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
"""Batches that each process makes ahead: DataLoader's own default."""
BILINEAR = 1
"""OpenCV's filter between neighbouring pixels, in mx.image."""


@cache
def shares(before: int, after: int) -> nd.NDArray:
    """(after, before): how much of each pixel is in each one of a smaller image, by a triangle
    filter that widens with the scale.
    """
    scale = before / after
    centres = (np.arange(after) + 0.5) * scale
    distance = np.abs(np.arange(before) + 0.5 - centres[:, None]) / max(1.0, scale)
    found = np.maximum(0.0, 1.0 - distance)
    return nd.array(found / found.sum(axis=1, keepdims=True))


def resized(image: nd.NDArray, size: int) -> nd.NDArray:
    """(H, W, 3), uint8 -> (3, size, size), in 0 to 255."""
    tall, wide, _ = image.shape
    if tall <= size and wide <= size:
        larger = mx.image.imresize(image, size, size, interp=BILINEAR)
        return larger.transpose((2, 0, 1)).astype("float32")
    # OpenCV's filter stays as it is where an image becomes smaller.
    planes = image.transpose((2, 0, 1)).astype("float32")
    rows = nd.dot(planes, shares(wide, size), transpose_b=True)
    return nd.dot(shares(tall, size), rows.transpose((1, 0, 2))).transpose((1, 0, 2))


class Samples(Dataset):
    """A sample by its id, its crop box, and whether it is mirrored."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getitem__(self, key: Key) -> tuple[nd.NDArray, int, int]:
        at, box, flip = key
        image = mx.image.imread(self.source.files.path(at))
        top, left, tall, wide = pixel_box(box, *image.shape[:2])
        image = resized(image[top : top + tall, left : left + wide], self.source.size)
        if flip:
            image = nd.flip(image, axis=2)
        tensor = nd.image.normalize(image / 255, MEAN, STD)
        return tensor, int(self.source.labels[at]), at

    def __len__(self) -> int:
        return len(self.source.files)


class Files:
    """Batches of a benchmark's images, made by processes that live as long as the case."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.order = PlannedBatches(source.batch_size)
        self.depth = AHEAD * source.loaders + 1  # it asks for one more before it gives one
        self.device = benchmark.compiler.device
        self.kind = benchmark.precision.parameters
        self.loader: Any = DataLoader(
            Samples(source), batch_sampler=self.order, num_workers=source.loaders
        )
        self.batches: Iterator[Any] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by gluon.data.DataLoader with {source.loaders} processes, decoded by "
            "mx.image.imread, and where they become smaller resized by matrix products with the "
            "weights of a filter: mx.image.imresize has no antialiasing"
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
        """DataLoader ends its processes when it goes."""
        self.batches = self.loader = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
