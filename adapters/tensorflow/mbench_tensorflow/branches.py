"""Networks of branches side by side in Keras, as `mbench.workloads.branches` plans them.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from mbench.workloads.branches import Conv, Head, Mixed, Pool
from mbench_tensorflow.layers import (
    NormConfig,
    NormedConvolution,
    cross_entropy,
    dense,
    max_pool,
    through,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.workloads.branches import BranchedConfig
    from mbench_tensorflow.layers import Layer

    Tensors = dict[str, tf.Tensor]

__all__ = ["BranchedNet", "forward", "loss_of", "part"]


class BranchedNet(keras.Model):
    """`auxiliary` makes an auxiliary classifier, whose last layer is its `fc`."""

    def __init__(
        self,
        config: BranchedConfig,
        auxiliary: Callable[..., keras.layers.Layer],
        *,
        name: str,
    ) -> None:
        super().__init__(name=name)
        plans = list(config.parts())
        self.parts: list[Any] = [
            auxiliary(config, plan) if isinstance(plan, Head) else part(config, plan)
            for plan in plans
        ]
        self.heads = [plan.output if isinstance(plan, Head) else "" for plan in plans]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.dropout = keras.layers.Dropout(config.dropout)
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor, training: bool = False) -> Tensors:
        """(B, H, W, 3) -> (B, K); in training, also (B, K) from each auxiliary head."""
        x, outputs = images, {}
        for layer, head in zip(self.parts, self.heads, strict=True):
            if not head:
                x = layer(x)
            elif training or not layer.fc.built:  # the first call creates all variables
                outputs[head] = layer(x)
        logits = self.fc(self.dropout(self.avgpool(x)))
        return {"logits": logits, **(outputs if training else {})}


class MixedLayer(keras.layers.Layer):
    """Parallel branches, their outputs concatenated."""

    def __init__(self, config: NormConfig, plan: Mixed) -> None:
        super().__init__(name=plan.name)
        self.branches, self.ends = [], []
        for branch in plan.branches:
            self.branches.append([part(config, one) for one in branch.row])
            self.ends.append([part(config, one) for one in branch.ends])

    def call(self, x: tf.Tensor) -> tf.Tensor:
        found = []
        for branch, ends in zip(self.branches, self.ends, strict=True):
            y = through(branch, x)
            found += [end(y) for end in ends] if ends else [y]
        return tf.concat(found, axis=-1)


def part(config: NormConfig, plan: Conv | Pool | Mixed) -> Layer:
    if isinstance(plan, Mixed):
        return MixedLayer(config, plan)
    if isinstance(plan, Pool):
        return partial(pooled, plan=plan)
    return NormedConvolution(
        config, plan.outputs, plan.kernel, plan.name, strides=plan.stride, padding=plan.padding
    )


def pooled(x: tf.Tensor, *, plan: Pool) -> tf.Tensor:
    """Mean pooling counts the zeros around the image, which "same" would leave out."""
    if plan.mean:
        margin = (plan.padding, plan.padding)
        if plan.padding:
            x = tf.pad(x, ((0, 0), margin, margin, (0, 0)))
        return tf.nn.avg_pool2d(x, plan.size, plan.stride, "VALID")
    if plan.stride == 1 and plan.padding == plan.size // 2:
        return tf.nn.max_pool2d(x, plan.size, 1, "SAME")
    return max_pool(x, plan.size, strides=plan.stride, padding=plan.padding, ceil=plan.ceil)


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K); in training, also those of auxiliary heads."""
    outputs: Tensors = model(batch["images"], training=training)
    return outputs


def loss_of(weight: float) -> Callable[[Tensors, Tensors], tf.Tensor]:
    """The loss to which each auxiliary head adds its own, times `weight`."""

    def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
        losses = {name: cross_entropy(of, batch["labels"]) for name, of in outputs.items()}
        main = losses.pop("logits")
        first, *others = losses.values()
        return main + weight * sum(others, first)

    return loss
