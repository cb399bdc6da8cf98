"""What a precision's name means in TensorFlow, and the check that it took effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["HALVES", "Precision", "resolve", "widened"]

HALVES = (tf.float16, tf.bfloat16)


@dataclass(frozen=True)
class Precision:
    """`parameters` is the type of parameters, statistics and inputs, `products` of products.

    `policy` is Keras' name for the two.
    """

    name: str
    policy: str
    parameters: tf.DType
    products: tf.DType
    tf32: bool = False

    @property
    def mixed(self) -> bool:
        return self.parameters != self.products

    @property
    def scaled(self) -> bool:
        """Whether the loss is scaled, so that small float16 gradients are not lost."""
        return self.name == "amp-fp16"

    def differences(self) -> list[str]:
        """What a reader should know of this precision's making."""
        found = []
        if self.mixed:
            found.append(f"mixed precision is Keras' policy {self.policy}, the loss in float32")
        elif self.parameters in HALVES:
            found.append("running statistics and optimizer state are half precision too")
        if self.scaled:
            found.append("dynamic loss scaling as Keras does it, which skips steps that overflow")
        return found

    def check(self, forward: Callable[..., Tensors], model: keras.Model, batch: Tensors) -> None:
        """Raise Unsupported unless a forward pass of one sample is in this precision.

        The outputs come from matrix products, so their type is that of the products, and they
        are on the CPU if that is where TensorFlow has its kernels. A new model makes its
        variables in this pass.
        """
        sample = {name: tensor[:1] for name, tensor in batch.items()}
        outputs = forward(model, sample, training=False)
        device = model.weights[0].value.device
        for name, output in outputs.items():
            if output.dtype != self.products:
                raise Unsupported(f"{self.name} has no effect here: {name} is {output.dtype.name}")
            if output.device != device:
                raise Unsupported(f"TensorFlow computes {name} in {self.name} on the CPU")
        for variable in model.weights:
            if variable.dtype != self.parameters.name:
                raise Unsupported(
                    f"{self.name} has no effect here: {variable.path} is {variable.dtype}"
                )


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp32", "float32", tf.float32, tf.float32),
        Precision("fp64", "float64", tf.float64, tf.float64),
        Precision("tf32", "float32", tf.float32, tf.float32, tf32=True),
        Precision("amp-bf16", "mixed_bfloat16", tf.float32, tf.bfloat16),
        Precision("amp-fp16", "mixed_float16", tf.float32, tf.float16),
        Precision("bf16", "bfloat16", tf.bfloat16, tf.bfloat16),
        Precision("fp16", "float16", tf.float16, tf.float16),
    )
}


def resolve(name: str, device: str) -> Precision:
    """The precision with its process-wide flags set; raises Unsupported where it has no effect."""
    if name not in PRECISIONS:
        raise Unsupported(f"TensorFlow's adapter has no precision {name}")
    precision = PRECISIONS[name]
    if device == "cuda":
        gpu = tf.config.list_physical_devices("GPU")[0]
        details = tf.config.experimental.get_device_details(gpu)
        capability = details.get("compute_capability", (0, 0))
        if precision.tf32 and capability < (8, 0):
            raise Unsupported("TensorFloat-32 needs a GPU of compute capability 8.0 or newer")
        if precision.products == tf.bfloat16 and capability < (8, 0):
            raise Unsupported("this GPU only emulates bfloat16: use fp16 or amp-fp16")
        # TensorFloat-32 is on unless told otherwise.
        tf.config.experimental.enable_tensor_float_32_execution(precision.tf32)
    elif precision.tf32 or precision.products == tf.float16:
        raise Unsupported(f"TensorFlow has no fast {name} on CPU")
    keras.config.set_dtype_policy(precision.policy)
    return precision


def widened(outputs: Tensors) -> Tensors:
    """Half-precision outputs in float32, in which the loss is computed; others as they are."""
    return {
        name: tf.cast(output, tf.float32) if output.dtype in HALVES else output
        for name, output in outputs.items()
    }
