"""Recommenders in Keras; names as in facebookresearch/dlrm, the cross network's as in torchrec.

Shapes: B batch, C continuous features, N category numbers, F interacting features, D width, S input
width of the cross network, R its rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import dense, through

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.workloads.dlrm import DlrmConfig

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = ("rows of tables are gathered and summed; each step updates all rows",)


class Dlrm(keras.Model):
    def __init__(self, config: DlrmConfig) -> None:
        super().__init__(name="dlrm")
        self.config = config
        self.tables = [
            keras.layers.Embedding(rows, config.width, "zeros", name=f"emb_l.{at}")
            for at, rows in enumerate(config.table_rows)
        ]
        self.bottom = mlp("bot_l", config.bottom)
        self.top = mlp("top_l", config.top)
        self.cross = CrossNet(config, name="crossnet") if config.cross_layers else None

    def call(self, continuous: tf.Tensor, categories: tf.Tensor) -> tf.Tensor:
        """(B, C), (B, N) -> (B)."""
        x = tf.nn.relu(through(self.bottom, continuous))
        bags = tf.split(categories, self.config.bags, axis=1)
        rows = [tf.reduce_sum(table(bag), 1) for table, bag in zip(self.tables, bags, strict=True)]
        features = tf.stack((x, *rows), axis=1)  # (B, F, D)
        if self.cross is not None:
            mixed = self.cross(tf.reshape(features, (x.shape[0], -1)))
        else:
            products = tf.matmul(features, features, transpose_b=True)
            places = [one * self.config.features + other for one, other in self.config.pairs]
            flat = tf.reshape(products, (x.shape[0], -1))
            mixed = tf.concat((x, tf.gather(flat, places, axis=1)), axis=1)
        return through(self.top, mixed)[:, 0]


class CrossNet(keras.layers.Layer):
    def __init__(self, config: DlrmConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.config = config

    def build(self, *_: object) -> None:
        size, rank = self.config.interactions, self.config.rank
        shapes = {"V_kernels": (rank, size), "W_kernels": (size, rank), "bias": (size,)}
        self.parts = [
            [
                self.add_weight(shape=shape, initializer="zeros", name=f"{name}.{layer}")
                for name, shape in shapes.items()
            ]
            for layer in range(self.config.cross_layers)
        ]

    def call(self, start: tf.Tensor) -> tf.Tensor:
        """(B, S) -> (B, S)."""
        x = start
        for part in self.parts:
            narrow, wide, bias = (tf.cast(one, x.dtype) for one in part)
            inner = tf.matmul(tf.matmul(x, narrow, transpose_b=True), wide, transpose_b=True)
            x = start * (inner + bias) + x
        return x


def mlp(name: str, outputs: Sequence[int]) -> list[keras.layers.Layer]:
    """Dense layers with a ReLU between each two."""
    layers = []
    for at, size in enumerate(outputs):
        layers += [*([keras.layers.ReLU()] if at else []), dense(size, f"{name}.{2 * at}")]
    return layers


build = Dlrm


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """continuous (B, C), categories (B, N) -> logits (B)."""
    return {"logits": model(batch["continuous"], batch["categories"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    """The mean binary cross entropy."""
    logits = outputs["logits"]
    labels = tf.cast(batch["labels"], logits.dtype)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
