"""A dense layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import layers, ops

if TYPE_CHECKING:
    from mbench.workloads.given import GivenConfig

__all__ = ["LABELS", "LOSS", "build"]

LABELS = {"outputs": "directions"}


def build(config: GivenConfig) -> keras.Model:
    """inputs (B, N) -> outputs (B, K)."""
    inputs = keras.Input((config.inputs,), name="inputs")
    outputs = layers.Dense(config.outputs, kernel_initializer="zeros", name="linear")(inputs)
    return keras.Model({"inputs": inputs}, {"outputs": outputs})


def LOSS(directions: Any, outputs: Any) -> Any:  # noqa: N802
    """(B, K), (B, K) -> (B,)."""
    return ops.sum(directions * outputs, axis=-1)
