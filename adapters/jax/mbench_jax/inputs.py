"""JAX's input pipeline: Grain, whose threads decode, crop and resize with Pillow.

JAX itself reads no files. Its documentation names Grain as a loader, which does not decode.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import grain
import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

from mbench.contract.compat import version_of
from mbench.contract.feed import MEAN, STD, pixel_box
from mbench.sdk.inputs import PlannedBatches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.feed import Plan, Source
    from mbench.sdk.inputs import Key
    from mbench_jax.runtime import Benchmark

__all__ = ["Files", "open_files"]

AHEAD = 2
"""Batches per thread that are ready or in progress. Grain's default, 500 elements, would hold a
whole block of batches."""

Item = tuple[np.ndarray, int, int]


class Samples:
    """The samples of a plan, by position: what Grain calls a random access source."""

    def __init__(self, source: Source, keys: Sequence[Key]) -> None:
        self.source = source
        self.keys = keys
        self.mean = np.array([255 * one for one in MEAN], np.float32)
        self.scale = np.array([1 / (255 * one) for one in STD], np.float32)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, place: int) -> Item:
        """A sample's image (S, S, 3), its label and its id."""
        at, box, flip = self.keys[place]
        with Image.open(self.source.files.path(at)) as opened:
            image = opened.convert("RGB")
        top, left, tall, wide = pixel_box(box, image.height, image.width)
        image = image.crop((left, top, left + wide, top + tall))
        # Pillow's resize widens its filter if an image becomes smaller.
        image = image.resize((self.source.size, self.source.size), Image.Resampling.BILINEAR)
        if flip:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = np.asarray(image, dtype=np.float32)
        pixels -= self.mean
        pixels *= self.scale
        return pixels, int(self.source.labels[at]), at


class Files:
    """Batches of a benchmark's images, made by threads of Grain."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.source = source
        self.order = PlannedBatches(source.batch_size)
        self.depth = AHEAD * source.loaders
        self.kind = benchmark.precision.parameters
        self.place = benchmark.compiler.waited_for(self.placed)
        self.batches: Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by Grain {version_of('grain')} with {source.loaders} threads, and "
            f"decoded and resized by Pillow {version_of('pillow')}"
        ]

    def begin(self, plan: Plan) -> None:
        self.order.plan = plan
        samples = Samples(self.source, list(chain.from_iterable(self.order)))
        made = grain.MapDataset.source(samples).batch(self.source.batch_size)
        options = grain.ReadOptions(
            num_threads=self.source.loaders, prefetch_buffer_size=self.depth
        )
        self.batches = iter(made.to_iter_dataset(options))

    def __next__(self) -> Mapping[str, jax.Array]:
        assert self.batches is not None, "begin comes first"
        images, labels, self._ids = next(self.batches)
        found: Mapping[str, jax.Array] = self.place(images, labels)
        return found

    def placed(self, images: np.ndarray, labels: np.ndarray) -> Mapping[str, jax.Array]:
        return {"images": jnp.asarray(images, self.kind), "labels": jnp.asarray(labels)}

    def ids(self) -> np.ndarray:
        return self._ids

    def close(self) -> None:
        self.batches = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
