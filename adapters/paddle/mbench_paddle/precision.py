"""How PaddlePaddle computes in a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn

from mbench.sdk.checks import check_capability, require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.precision import Precision
    from mbench.sdk.compiler import Compiler

    Function = Callable[..., Any]


__all__ = ["PRODUCTS", "autocast", "built", "differences", "set_flags", "wide", "widened"]

PRODUCTS = (nn.Linear, nn.Conv2D)
"""Layers whose outputs are products; under AMP, a float32 bias may widen the outputs of others."""


def differences(precision: Precision) -> list[str]:
    """What a reader should know about how this precision is computed."""
    found = []
    if precision.mixed:
        found.append(f"mixed precision is paddle.amp's level O1 in {precision.products}")
    elif precision.half:
        found.append(
            f"{precision.name} is paddle.amp's level O2 without master weights: norms that it "
            "spares stay in float32"
        )
    if precision.scales_loss:
        found.append(
            "dynamic loss scaling by GradScaler, which waits for the gradients to skip steps that "
            "overflow"
        )
    return found


def set_flags(precision: Precision, compiler: Compiler) -> None:
    """Set process-wide options; raises Unsupported if the device lacks the precision."""
    if compiler.device == "cuda":
        capability = paddle.device.cuda.get_device_capability()
        check_capability(precision, capability)
        there = precision.products != "float16" or capability >= (7, 0)
        require(there, "float16 needs compute capability 7.0 or newer")
        # TensorFloat-32 is on by default.
        paddle.base.core.set_cublas_switch(precision.tf32)
        paddle.base.core.set_cudnn_switch(precision.tf32)


def built(build: Callable[[], nn.Layer], precision: Precision) -> nn.Layer:
    """A model in its final types, except at level O2: nn.LSTM has a buffer that cannot be cast."""
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float32" if precision.half else precision.parameters)
    try:
        model = build()
    finally:
        paddle.set_default_dtype(before)
    if precision.half and not precision.mixed:
        paddle.amp.decorate(models=model, level="O2", dtype=precision.products, master_weight=False)
    return model


def autocast(function: Function, precision: Precision) -> Function:
    """`function`, under autocast if the precision is half."""
    if not precision.half:
        return function
    level = "O1" if precision.mixed else "O2"  # which has half-precision parameters too
    return paddle.amp.auto_cast(level=level, dtype=precision.products)(function)


def wide(tensor: paddle.Tensor) -> paddle.Tensor:
    """`tensor` in float32 if it is in half precision."""
    return tensor.astype("float32") if tensor.dtype in (paddle.float16, paddle.bfloat16) else tensor


def widened(outputs: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """Half-precision outputs in float32, in which the loss is computed; others unchanged."""
    return {name: wide(output) for name, output in outputs.items()}
