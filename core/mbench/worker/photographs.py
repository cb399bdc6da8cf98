"""The batches of a lesson that a framework's own input pipeline makes from files.

The core draws which images each step has, how each is cropped and whether it is mirrored, and the
pipeline makes the pixels. On their way to a step they pass through NumPy arrays, where labels are
smoothed and images mixed, the same for every framework.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.feed import Plan, Source
from mbench.contract.parted_folder import parted
from mbench.worker.feeds import confine
from mbench.workloads.crops import crop_boxes
from mbench.workloads.lessons import Order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.learning import Lesson

    Batch = dict[str, np.ndarray]

__all__ = ["PhotographFeed"]


class PhotographFeed(Order):
    """The batches of a training run from files, by step, and those of its evaluation."""

    keeps = False
    """Whether held-out data may be kept as it is fed. It may not: that would save decoding work."""

    def __init__(
        self, lesson: Lesson, benchmark: Benchmark, case: Case, *, seed: int, size: int
    ) -> None:
        """Open the pipeline of `benchmark`, whose images have `size` pixels on each side; raises
        Unsupported if it has none.
        """
        self.folder = parted(case.data)
        super().__init__(lesson, len(self.folder.train), seed=seed)
        confine(case.threads)
        self.benchmark = benchmark
        source = Source(
            files=self.folder.files, labels=self.folder.labels, batch_size=lesson.batch_size,
            size=size, loaders=case.loaders or case.threads,
        )  # fmt: skip
        self.pipeline = benchmark.files(source)
        self.differences = self.pipeline.differences

    def count(self, part: str) -> int:
        return len(getattr(self.folder, part))

    def batches(self, first: int, count: int) -> Iterator[Batch]:
        """Batches of `count` training steps from `first` on; the pipeline starts anew there."""
        size = self.lesson.batch_size
        numbers = [self.folder.train[self.chosen(step)] for step in range(first, first + count)]
        crops = [
            crop_boxes(f"lesson/{self.seed}/crops/{step}", size)
            for step in range(first, first + count)
        ]
        boxes, flips = (np.concatenate(column) for column in zip(*crops))  # noqa: B905
        made = self.made(np.concatenate(numbers), boxes, flips)
        for at, (images, labels) in enumerate(made):
            images, labels = self.softened(images, labels, first + at)
            yield {"images": images, "labels": labels}

    def batch(self, step: int) -> Batch:
        """The batch of a single step."""
        return next(self.batches(step, 1))

    def held_out(self, size: int, examples: int = 0) -> Iterator[tuple[Batch, np.ndarray]]:
        """Batches of central crops, the last one padded, with the labels of those that count."""
        whole = self.folder.test
        count = min(examples or len(whole), len(whole))
        numbers = np.resize(whole[:count], size * math.ceil(count / size))
        boxes = np.zeros((len(numbers), 4), dtype=np.int64)
        made = self.made(numbers, boxes, np.zeros(len(numbers), dtype=bool))
        for at, (images, labels) in enumerate(made):
            fresh = min(size, count - at * size)
            yield {"images": images, "labels": labels}, labels[:fresh]

    def made(
        self, numbers: np.ndarray, boxes: np.ndarray, flips: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Images, float32 (B, 3, H, W), and labels (B,), as the pipeline returns them; raises
        ValueError if they belong to other files than requested, or to other classes.
        """
        self.pipeline.begin(Plan(numbers, boxes, flips))
        size = self.lesson.batch_size
        for first in range(0, len(numbers), size):
            wanted = numbers[first : first + size]
            try:
                batch = next(self.pipeline)
            except StopIteration:
                raise ValueError("the input pipeline ended before its last batch") from None
            if not np.array_equal(self.pipeline.ids(), wanted):
                raise ValueError("the input pipeline returned images other than those requested")
            labels = self.folder.labels[wanted]
            found = self.benchmark.to_numpy(batch["labels"]).ravel()
            if not np.array_equal(found, labels):
                raise ValueError("the input pipeline returned labels that do not match its images")
            yield self.benchmark.pixels(batch).astype(np.float32, copy=False), labels

    def close(self) -> None:
        self.pipeline.close()
