"""PyTorch's input pipeline: DataLoader processes that decode with Pillow and use torchvision v2.

It follows torchvision's own ImageFolder and reference training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from mbench.contract.compat import version_of
from mbench.contract.feed import MEAN, STD, pixel_box
from mbench.sdk.inputs import PlannedBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.feed import Plan, Source
    from mbench.sdk.inputs import Key
    from mbench_pytorch.runtime import Benchmark

__all__ = ["Files", "open_files"]

AHEAD = 2
"""Batches that each process prefetches: DataLoader's own default."""

Item = tuple[torch.Tensor, int, int]


class Samples(Dataset[Item]):
    """A sample by its id, its crop box, and whether it is mirrored."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getitem__(self, key: Key) -> Item:
        from torchvision.transforms.v2 import InterpolationMode, functional

        at, box, flip = key
        size = self.source.size
        with open(self.source.files.path(at), "rb") as file:
            image = Image.open(file).convert("RGB")
        top, left, height, width = pixel_box(box, image.height, image.width)
        image = functional.resized_crop(
            image, top, left, height, width, [size, size],
            interpolation=InterpolationMode.BILINEAR, antialias=True,
        )  # fmt: skip
        if flip:
            image = functional.horizontal_flip(image)
        tensor = functional.to_dtype(functional.pil_to_tensor(image), torch.float32, scale=True)
        tensor = functional.normalize(tensor, list(MEAN), list(STD))
        return tensor, int(self.source.labels[at]), at


def begin_loader(_: int) -> None:
    """Each loader is a process, and uses one thread."""
    torch.set_num_threads(1)


class Files:
    """Batches of a benchmark's images, from processes that live as long as the case."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.benchmark = benchmark
        self.order = PlannedBatches(source.batch_size)
        self.depth = AHEAD * source.loaders
        self.device = benchmark.compiler.device
        on_cuda = self.device.type == "cuda"
        self.dtype = getattr(torch, benchmark.precision.parameters)
        self.loader: Any = DataLoader(
            Samples(source), batch_sampler=self.order, num_workers=source.loaders,
            prefetch_factor=AHEAD, persistent_workers=True, pin_memory=on_cuda,
            worker_init_fn=begin_loader,
        )  # fmt: skip
        self.batches: Iterator[Any] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by torch.utils.data.DataLoader with {source.loaders} processes, "
            f"decoded by Pillow {version_of('pillow')}, and resized by torchvision.transforms.v2"
        ]

    def begin(self, plan: Plan) -> None:
        self.order.plan = plan
        self.batches = iter(self.loader)

    def __next__(self) -> Mapping[str, torch.Tensor]:
        assert self.batches is not None, "begin comes first"
        images, labels, ids = next(self.batches)
        self._ids = ids.numpy()
        images = images.to(self.device, self.dtype, non_blocking=True)
        return {
            "images": images.contiguous(memory_format=self.benchmark.layout),
            "labels": labels.to(self.device, non_blocking=True),
        }

    def ids(self) -> np.ndarray:
        return self._ids

    def close(self) -> None:
        """DataLoader itself ends its processes only when its iterator is deleted."""
        self.batches = None
        if self.loader is not None and self.loader._iterator is not None:
            self.loader._iterator._shutdown_workers()
        self.loader = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
