"""TensorFlow's input pipeline: tf.data, whose threads decode, crop and resize with tf.image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from mbench.contract.feed import CENTRE_EIGHTHS, MEAN, SHARES, STD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.feed import Plan, Source
    from mbench_tensorflow.runtime import Benchmark

__all__ = ["Files", "open_files"]

AHEAD = 2
"""Batches that are ready, besides the one in progress."""


def pixel_box(box: tf.Tensor, height: tf.Tensor, width: tf.Tensor) -> tf.Tensor:
    """Top, left, height and width of a crop, as mbench.contract.feed.pixel_box computes them."""
    side = tf.maximum(tf.minimum(height, width) * CENTRE_EIGHTHS // 8, 1)
    central = tf.stack([(height - side) // 2, (width - side) // 2, side, side])
    top, left = box[0] * height // SHARES, box[1] * width // SHARES
    tall = tf.maximum(tf.minimum(box[2] * height // SHARES, height - top), 1)
    wide = tf.maximum(tf.minimum(box[3] * width // SHARES, width - left), 1)
    return tf.where(box[2] == 0, central, tf.stack([top, left, tall, wide]))


class Files:
    """Batches of a benchmark's images, made by threads of tf.data."""

    def __init__(self, benchmark: Benchmark, source: Source) -> None:
        self.source = source
        self.placement = benchmark.compiler.placement
        self.kind = benchmark.precision.parameters
        self.depth = AHEAD + 1
        self.batches: Iterator[tuple[tf.Tensor, tf.Tensor, tf.Tensor]] | None = None
        self._ids = np.zeros(0, dtype=np.int64)
        self.differences = [
            f"images are read by tf.data with {source.loaders} parallel calls, decoded by "
            "tf.io.decode_jpeg with dct_method INTEGER_ACCURATE, and resized by tf.image.resize "
            "with antialias"
        ]
        self.mean = tf.constant([255 * one for one in MEAN], tf.float32)
        self.scale = tf.constant([1 / (255 * one) for one in STD], tf.float32)

    def sample(
        self, path: tf.Tensor, box: tf.Tensor, flip: tf.Tensor, label: tf.Tensor, at: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """A sample's image (S, S, 3), its label and its id."""
        content = tf.io.read_file(path)
        # tf.io.decode_and_crop_jpeg upsamples colours differently at the edges of a crop: they
        # differ by up to 34 of 255 from those of the whole image.
        image = tf.io.decode_jpeg(
            content, channels=3, dct_method="INTEGER_ACCURATE", fancy_upscaling=True
        )
        shape = tf.shape(image, tf.int64)
        top, left, tall, wide = tf.unstack(pixel_box(box, shape[0], shape[1]))
        image = image[top : top + tall, left : left + wide]
        size = self.source.size
        image = tf.image.resize(image, [size, size], method="bilinear", antialias=True)
        image = tf.cond(flip, lambda: tf.reverse(image, [1]), lambda: image)
        return tf.ensure_shape((image - self.mean) * self.scale, [size, size, 3]), label, at

    def begin(self, plan: Plan) -> None:
        paths = [self.source.files.path(at) for at in plan.ids.tolist()]
        labels = self.source.labels[plan.ids]
        with tf.device("CPU"):
            made = tf.data.Dataset.from_tensor_slices(
                (paths, plan.boxes, plan.flips, labels, plan.ids)
            )
            made = made.map(self.sample, num_parallel_calls=self.source.loaders, deterministic=True)
            made = made.batch(self.source.batch_size, drop_remainder=True).prefetch(AHEAD)
            options = tf.data.Options()
            options.threading.private_threadpool_size = self.source.loaders
            self.batches = iter(made.with_options(options))

    def __next__(self) -> Mapping[str, tf.Tensor]:
        assert self.batches is not None, "begin comes first"
        images, labels, ids = next(self.batches)
        self._ids = ids.numpy()
        with tf.device(self.placement):
            return {"images": tf.cast(images, self.kind), "labels": tf.identity(labels)}

    def ids(self) -> np.ndarray:
        return self._ids

    def close(self) -> None:
        self.batches = None


def open_files(benchmark: Benchmark, source: Source) -> Files:
    return Files(benchmark, source)
