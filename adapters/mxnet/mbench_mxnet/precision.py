"""What a precision's name means in MXNet, and the check that it took effect."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet.contrib import amp
from mxnet.contrib.amp.amp import bfloat16
from mxnet.contrib.amp.loss_scaler import LossScaler
from mxnet.gluon import nn, rnn

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import mxnet as mx
    from mxnet import gluon

__all__ = ["Precision", "resolve"]

LAYERS = (nn.Dense, nn.Conv2D, rnn.LSTM)
"""Layers that are matrix products, whose type counts."""
FLOAT16, FLOAT32, FLOAT64 = (np.dtype(name) for name in ("float16", "float32", "float64"))


@dataclass(frozen=True)
class Precision:
    """`parameters` is the type of parameters, statistics and inputs, `products` of products."""

    name: str
    parameters: np.dtype
    products: np.dtype

    @property
    def mixed(self) -> bool:
        return self.parameters != self.products

    @property
    def exact(self) -> bool:
        """Whether kernels whose constants are float32 will not do."""
        return self.parameters == FLOAT64

    def differences(self) -> list[str]:
        """What a reader should know of this precision's making."""
        found = []
        if self.mixed:
            found.append(f"mixed precision is MXNet's AMP in {type_name(self.products)}")
        if self.products == bfloat16:
            found.append(
                "AMP's bfloat16 is for convolutions and dense layers: attention's products, "
                "softmax, layer norm and GELU are in float32"
            )
        if self.name == "fp16":
            found.append(
                "statistics of batch norm, and the optimizer with a copy of the parameters, are "
                "in float32"
            )
        if self.name == "amp-fp16":
            found.append(
                "dynamic loss scaling by AMP's LossScaler, which waits for the gradients to skip "
                "steps that overflow"
            )
        return found

    def scaler(self) -> LossScaler | None:
        """A new loss scaler where float16 gradients need one."""
        return LossScaler() if self.name == "amp-fp16" else None

    def widened(self, F: Any, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Half-precision outputs in float32, in which the loss is computed."""
        if self.products.itemsize > 2:
            return outputs
        return {name: F.amp_cast(output, dtype="float32") for name, output in outputs.items()}

    def check(self, model: gluon.HybridBlock, forward: Callable[[], object]) -> None:
        """Raise Unsupported unless layers put out this precision when `forward` runs `model`."""
        hooks = []

        def note(layer: gluon.Block, inputs: tuple[mx.nd.NDArray], output: mx.nd.NDArray) -> None:
            if np.dtype(output.dtype) != self.products:
                found = type_name(np.dtype(output.dtype))
                raise Unsupported(f"{self.name} has no effect here: {layer.name} is {found}")

        def attach(block: gluon.Block) -> None:
            if isinstance(block, LAYERS):
                hooks.append(block.register_forward_hook(note))

        model.apply(attach)
        forward()
        for hook in hooks:
            hook.detach()


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp32", FLOAT32, FLOAT32),
        Precision("fp64", FLOAT64, FLOAT64),
        Precision("amp-bf16", FLOAT32, bfloat16),
        Precision("amp-fp16", FLOAT32, FLOAT16),
        Precision("fp16", FLOAT16, FLOAT16),
    )
}

rewritten_for: Precision | None = None
"""Of this process: AMP replaces MXNet's operators, and there is no way back."""


def resolve(name: str, device: mx.Context) -> Precision:
    """The precision with AMP set up, before any model is built.

    Raises Unsupported where it has no effect, or where AMP was set up for another one before.
    """
    global rewritten_for
    if name not in PRECISIONS:
        raise Unsupported(f"MXNet's adapter has no precision {name}")
    precision = PRECISIONS[name]
    if device.device_type == "cpu" and precision.products == FLOAT16:
        raise Unsupported("MXNet's matrix products have no float16 on CPU")
    if device.device_type != "cpu" and precision.products == bfloat16:
        raise Unsupported("MXNet has bfloat16 on CPU only")
    if rewritten_for not in (None, precision):
        raise Unsupported(f"this process is set up for {rewritten_for.name}: AMP has no way back")
    if precision.mixed and rewritten_for is None:
        amp.init(target_dtype=type_name(precision.products))
        rewritten_for = precision
    return precision


def type_name(dtype: np.dtype) -> str:
    """NumPy has no bfloat16: MXNet's is a structure with one field of that name."""
    return dtype.names[0] if dtype.names else dtype.name
