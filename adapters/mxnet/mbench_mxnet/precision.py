"""How MXNet computes in a precision."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet import MXNetError, nd
from mxnet.contrib import amp
from mxnet.contrib.amp.amp import bfloat16
from mxnet.gluon import nn, rnn

from mbench.sdk.checks import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision
    from mbench_mxnet.compiler import Eager

__all__ = ["PRODUCTS", "differences", "has_bfloat16", "is_exact", "set_flags", "type_name",
           "widened"]  # fmt: skip

PRODUCTS = (nn.Dense, nn.Conv2D, rnn.LSTM)
"""Layers that are matrix products: their outputs' type is checked."""


def differences(precision: Precision) -> list[str]:
    """What a reader should know about how this precision is computed."""
    found = []
    if precision.mixed:
        found.append(f"mixed precision is MXNet's AMP in {precision.products}")
    elif precision.half:
        found.append(
            "statistics of batch norm, and the optimizer with a copy of the parameters, are in "
            "float32"
        )
    if precision.products == "bfloat16":
        found.append(
            "AMP's bfloat16 is for convolutions and dense layers: attention's products, softmax, "
            "layer norm and GELU are in float32"
        )
    if precision.scales_loss:
        found.append(
            "dynamic loss scaling by AMP's LossScaler, which waits for the gradients to skip "
            "steps that overflow"
        )
    return found


rewritten_for: Precision | None = None
"""The precision for which this process is set up: AMP replaces MXNet's operators for good."""


def set_flags(precision: Precision, compiler: Eager) -> None:
    """Set AMP up, before any model is built; raises Unsupported if it was set up differently."""
    global rewritten_for
    if rewritten_for is not None:
        said = f"this process is set up for {rewritten_for.name}: AMP has no way back"
        require(precision == rewritten_for, said)
    elif precision.mixed:
        if precision.products == "bfloat16" and compiler.device.device_type == "cpu":
            require(has_bfloat16(), "MXNet's oneDNN has bfloat16 where the processor has AVX-512")
        amp.init(target_dtype=precision.products)
        rewritten_for = precision


@functools.cache
def has_bfloat16() -> bool:
    """Whether oneDNN can compute a product in bfloat16 on this processor."""
    ones = nd.cast(nd.ones((16, 16)), dtype=bfloat16)
    try:
        nd.FullyConnected(ones, ones, num_hidden=16, no_bias=True).wait_to_read()
    except MXNetError:
        return False
    return True


def is_exact(precision: Precision) -> bool:
    """Whether kernels with float32 constants are not exact enough."""
    return precision.parameters == "float64"


def widened(F: Any, outputs: Mapping[str, Any], precision: Precision) -> Mapping[str, Any]:
    """Half-precision outputs in float32, in which the loss is computed; others unchanged."""
    if not precision.half:
        return outputs
    return {name: F.amp_cast(output, dtype="float32") for name, output in outputs.items()}


def type_name(dtype: Any) -> str:
    """NumPy has no bfloat16: MXNet's is a structure with one field of that name."""
    dtype = np.dtype(dtype)
    return dtype.names[0] if dtype.names else dtype.name
