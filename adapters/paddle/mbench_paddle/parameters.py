"""Canonical tensors to and from the model's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import paddle
from paddle import nn

from mbench_paddle.layers import Projection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench_paddle.statistics import RunningStatistics

__all__ = ["load", "named", "read", "to_numpy", "trainable"]

ENCODER = "encoder.layers."
CANONICAL = (
    (ENCODER, "encoder.layer."),
    (".self_attn.q_proj.", ".attention.self.query."),
    (".self_attn.k_proj.", ".attention.self.key."),
    (".self_attn.v_proj.", ".attention.self.value."),
    (".self_attn.out_proj.", ".attention.output.dense."),
    (".norm1.", ".attention.output.LayerNorm."),
    (".linear1.", ".intermediate.dense."),
    (".linear2.", ".output.dense."),
    (".norm2.", ".output.LayerNorm."),
)
"""Parts of the names in paddle.nn's transformer beside what they are canonically."""
STATISTICS = (("._mean", ".running_mean"), ("._variance", ".running_var"))


@dataclass(frozen=True)
class Native:
    """A tensor of the model; `transposed` where its layout is (in, out), not (out, in)."""

    tensor: paddle.Tensor
    transposed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """In the canonical layout."""
        shape = tuple(self.tensor.shape)
        return shape[::-1] if self.transposed else shape


def trainable(model: nn.Layer) -> dict[str, paddle.Tensor]:
    """Parameters that the optimizer updates, by canonical name."""
    return {
        name: native.tensor
        for name, native in named(model).items()
        if not native.tensor.stop_gradient
    }


def named(model: nn.Layer) -> dict[str, Native]:
    """All parameters and running statistics by canonical name.

    A tied one appears once, and so does an LSTM's, which its cells have under other names. What
    is not of numbers (an LSTM's state of dropout) is left out.
    """
    found: dict[str, Native] = {}
    seen: set[int] = set()
    for prefix, layer in model.named_sublayers(include_self=True):
        linear = isinstance(layer, nn.Linear) and not isinstance(layer, Projection)
        tensors = (
            *layer.named_parameters(prefix, include_sublayers=False),
            *layer.named_buffers(prefix, include_sublayers=False),
        )
        for name, tensor in tensors:
            if tensor.is_floating_point() and id(tensor) not in seen:
                seen.add(id(tensor))
                found[canonical(name)] = Native(tensor, linear and tensor.ndim == 2)
    return found


def load(
    model: nn.Layer, arrays: Iterable[tuple[str, np.ndarray]], statistics: RunningStatistics
) -> None:
    """Copy `arrays` into the model, and start counting steps anew.

    Raises ValueError for a name that the model lacks or that comes twice, for a wrong shape,
    and for a tensor left out.
    """
    missing = named(model)
    for name, array in arrays:
        native = missing.pop(name, None)
        if native is None:
            raise ValueError(f"the model has no {name}, or it came before")
        if native.shape != array.shape:
            raise ValueError(f"{name} is {native.shape} in the model, not {array.shape}")
        if name in statistics:
            array = statistics.native(name, array)
        layout = np.ascontiguousarray(array.T) if native.transposed else array
        native.tensor.set_value(paddle.to_tensor(layout).astype(native.tensor.dtype))
    if missing:
        raise ValueError(f"the model has {next(iter(missing))}, which was left out")
    statistics.restart()


def read(model: nn.Layer, statistics: RunningStatistics) -> Iterator[tuple[str, np.ndarray]]:
    """Copies of all tensors, one at a time; half precision widened to float32."""
    for name, native in named(model).items():
        array = to_numpy(native.tensor)
        if name in statistics:
            array = statistics.canonical(name, array)
        yield name, np.ascontiguousarray(array.T) if native.transposed else array


def to_numpy(tensor: paddle.Tensor) -> np.ndarray:
    """A contiguous copy in float32, or in float64 where `tensor` is."""
    dtype = paddle.float64 if tensor.dtype == paddle.float64 else paddle.float32
    array: np.ndarray = tensor.detach().astype(dtype).numpy()
    return array


def canonical(name: str) -> str:
    for native, known in CANONICAL if ENCODER in name else STATISTICS:
        name = name.replace(native, known)
    return name
