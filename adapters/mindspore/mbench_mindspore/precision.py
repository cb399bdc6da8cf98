"""How MindSpore computes in a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindspore as ms

if TYPE_CHECKING:
    from mindspore import nn

    from mbench.contract.precision import Precision

__all__ = ["cast", "differences"]


def differences(precision: Precision) -> list[str]:
    """What a reader should know about how this precision is computed."""
    if precision.name == "fp64":
        return [
            "where MindSpore's kernels lack float64 (convolution, norms, average pooling, ReLU6, "
            "LSTM, optimizers) they are composed of operations that have it"
        ]
    return []


def cast(model: nn.Cell, precision: Precision) -> nn.Cell:
    """`model`, with its parameters cast to the type of the precision."""
    if precision.parameters == "float64":
        for tensor in model.get_parameters():
            tensor.set_dtype(ms.float64)
    return model
