"""TensorFlow, with additional work after the blocks of a stage; their outputs stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow.models import resnet
from mbench_tensorflow.runtime import Runtime
from plants.asked import asked

if TYPE_CHECKING:
    from plants.asked import Plant

__all__ = ["Runtime"]


def with_more(y: tf.Tensor, plant: Plant) -> tf.Tensor:
    """`y`, computed in a way that no graph optimizer can simplify."""
    if plant.kind in ("sleep", "sync"):

        def waited(tensor: tf.Tensor) -> tf.Tensor:
            plant.wait()
            return tensor

        z = tf.py_function(waited, [y], Tout=y.dtype)
        z.set_shape(y.shape)
        return z
    z = y
    for _ in range(plant.times):
        if plant.kind == "atan":
            z = tf.math.atan(z)
        elif plant.kind == "copy":
            z = tf.raw_ops.DeepCopy(x=z)
        else:
            there = tf.raw_ops.DeepCopy(x=tf.transpose(z, (0, 3, 1, 2)))
            z = tf.transpose(there, (0, 2, 3, 1))
    return tf.where(z > 1e30, z, y) if plant.kind == "atan" else z


honest, plant = resnet.Block.call, asked()


def call(self: resnet.Block, x: tf.Tensor) -> tf.Tensor:
    y = honest(self, x)
    return with_more(y, plant) if plant and plant.is_in(self.name) else y


resnet.Block.call = call
