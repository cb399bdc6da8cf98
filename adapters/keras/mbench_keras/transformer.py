"""What transformers share. Shapes: B batch, L sequence, D hidden."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

__all__ = ["Bias", "Positions", "attended", "dense", "gelu", "normed"]


class Positions(layers.Layer):
    """Adds the embeddings of positions, as in KerasHub: Keras itself has no such layer."""

    def __init__(self, rows: int, name: str) -> None:
        super().__init__(name=name)
        self.rows = rows

    def build(self, shape: tuple[int, ...]) -> None:
        self.embeddings = self.add_weight(
            shape=(self.rows, shape[-1]), initializer="zeros", name="embeddings"
        )

    def call(self, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        return x + self.embeddings[: x.shape[1]]


class Bias(layers.Layer):
    """The bias that the product with a tied embedding lacks."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.bias = self.add_weight(shape=(shape[-1],), initializer="zeros", name="bias")

    def call(self, x: Any) -> Any:
        return x + self.bias


ATTENTION = (
    "attention is keras.layers.MultiHeadAttention: its backend's dot_product_attention, but two "
    "matrix products around a softmax where there is dropout"
)


def dense(x: Any, units: int, name: str) -> Any:
    return layers.Dense(units, kernel_initializer="zeros", name=name)(x)


def normed(config: Any, x: Any, name: str) -> Any:
    return layers.LayerNormalization(epsilon=config.epsilon, name=name)(x)


def attended(config: Any, x: Any, name: str, *, causal: bool) -> Any:
    """Keras' attention with its projections, (B, L, D) -> (B, L, D).

    JAX's kernel for it computes the softmax in float32. So in float64 the scores are requested,
    too: Keras has these only if it composes attention.
    """
    layer = layers.MultiHeadAttention(
        config.heads, config.hidden // config.heads, dropout=getattr(config, "dropout", 0.0),
        kernel_initializer="zeros", name=name,
    )  # fmt: skip
    double = keras.config.floatx() == "float64"
    found = layer(x, x, use_causal_mask=causal, return_attention_scores=double)
    return found[0] if double else found


def gelu(x: Any, *, approximate: bool) -> Any:
    """TensorFlow's GELU has float32 constants even in float64, so there it is composed."""
    if keras.config.floatx() != "float64":
        return ops.gelu(x, approximate=approximate)
    if approximate:
        return 0.5 * x * (1.0 + ops.tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * x**3)))
    return 0.5 * x * (1.0 + ops.erf(x / 2**0.5))
