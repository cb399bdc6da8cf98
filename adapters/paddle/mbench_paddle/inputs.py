"""PaddlePaddle's input pipeline: paddle.io.DataLoader, whose processes use paddle.vision.transforms
on images that Pillow decodes, as paddle.vision.datasets.ImageFolder does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from paddle.io import DataLoader, Dataset
from paddle.vision.transforms import functional
from PIL import Image

from mbench.contract.compat import version_of
from mbench.contract.feed import MEAN, STD, pixel_box
from mbench.sdk.inputs import PlannedBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import paddle

    from mbench.contract.feed import Plan, Source
    from mbench.sdk.inputs import Key
    from mbench_paddle.runtime import Benchmark

__all__ = ["Files", "open_files"]

AHEAD = 2
"""Batches that each process prefetches: DataLoader's own default."""


class Samples(Dataset):
    """Samples, by id, crop box and whether they are mirrored."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.mean, self.std = [255 * one for one in MEAN], [255 * one for one in STD]

    def __getitem__(self, key: Key) -> tuple[np.ndarray, int, int]:
        at, box, flip = key
        size = self.source.size
        with open(self.source.files.path(at), "rb") as file:
            image = Image.open(file).convert("RGB")
        image = functional.crop(image, *pixel_box(box, image.height, image.width))
        image = functional.resize(image, [size, size], interpolation="bilinear")
        if flip:
            image = functional.hflip(image)
        # Not functional.to_tensor: Paddle's operations crash some forked processes (SIGSEGV).
        pixels = np.asarray(image, dtype=np.float32).transpose(2, 0, 1)
        pixels = functional.normalize(pixels, self.mean, self.std)
        return pixels, int(self.source.labels[at]), at

    def __len__(self) -> int:
        return len(self.source.files)


class Files:
    """Batches of a benchmark's images, from processes that live as long as the case."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.order = PlannedBatches(source.batch_size)
        self.depth = AHEAD * source.loaders
        self.kind = benchmark.own.parameters
        self.loader: Any = DataLoader(
            Samples(source), batch_sampler=self.order, num_workers=source.loaders,
            prefetch_factor=AHEAD, persistent_workers=True,
        )  # fmt: skip
        self.batches: Iterator[Any] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by paddle.io.DataLoader with {source.loaders} processes, decoded by "
            f"Pillow {version_of('pillow')}, and resized by paddle.vision.transforms, which uses "
            "Pillow"
        ]

    def begin(self, plan: Plan) -> None:
        self.order.plan = plan
        self.batches = iter(self.loader)

    def __next__(self) -> Mapping[str, paddle.Tensor]:
        assert self.batches is not None, "begin comes first"
        images, labels, ids = next(self.batches)
        self._ids = ids.numpy()
        return {"images": images.astype(self.kind), "labels": labels}

    def ids(self) -> np.ndarray:
        return self._ids

    def close(self) -> None:
        """DataLoader's processes live as long as its iterator, which is kept for all plans."""
        self.batches = None
        if self.loader is not None and self.loader._iterator is not None:
            self.loader._iterator._try_shutdown_all(1)
        self.loader = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
