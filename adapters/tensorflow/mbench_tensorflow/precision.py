"""How TensorFlow computes in a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.sdk.checks import check_capability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision
    from mbench_tensorflow.compiler import Eager

__all__ = ["HALVES", "differences", "policy", "set_flags", "wide", "widened"]

HALVES = (tf.float16, tf.bfloat16)


def policy(precision: Precision) -> str:
    """Keras' name for the types of parameters and products."""
    return f"mixed_{precision.products}" if precision.mixed else precision.parameters


def differences(precision: Precision) -> list[str]:
    """What a reader should know about how this precision is computed."""
    found = []
    if precision.mixed:
        found.append(f"mixed precision is Keras' policy {policy(precision)}, the loss in float32")
    elif precision.half:
        found.append("running statistics and optimizer state are half precision too")
    if precision.scales_loss:
        found.append(
            "dynamic loss scaling as Keras does it, which waits for the gradients to skip steps "
            "that overflow"
        )
    return found


def set_flags(precision: Precision, compiler: Eager) -> None:
    """Set process-wide options; raises Unsupported if the device lacks the precision."""
    if compiler.device == "cuda":
        gpu = tf.config.list_physical_devices("GPU")[0]
        details = tf.config.experimental.get_device_details(gpu)
        check_capability(precision, details.get("compute_capability", (0, 0)))
        # TensorFloat-32 is on by default.
        tf.config.experimental.enable_tensor_float_32_execution(precision.tf32)
    keras.config.set_dtype_policy(policy(precision))


def wide(tensor: tf.Tensor | tf.Variable) -> tf.Tensor:
    """`tensor` in float32 if it is in half precision."""
    return tf.cast(tensor, tf.float32) if tensor.dtype in HALVES else tf.convert_to_tensor(tensor)


def widened(outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Half-precision outputs in float32, in which the loss is computed; others unchanged."""
    return {name: wide(output) for name, output in outputs.items()}
