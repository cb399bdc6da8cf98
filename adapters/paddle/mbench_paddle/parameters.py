"""The model's tensors by canonical name."""

from __future__ import annotations

import numpy as np
import paddle
from paddle import nn

from mbench.sdk.tensors import Native
from mbench_paddle.layers import Projection

__all__ = ["Tensor", "named", "placed", "to_numpy"]

ENCODER = "bert.encoder.layers."
CANONICAL = (
    (ENCODER, "bert.encoder.layer."),
    (".self_attn.q_proj.", ".attention.self.query."),
    (".self_attn.k_proj.", ".attention.self.key."),
    (".self_attn.v_proj.", ".attention.self.value."),
    (".self_attn.out_proj.", ".attention.output.dense."),
    (".norm1.", ".attention.output.LayerNorm."),
    (".linear1.", ".intermediate.dense."),
    (".linear2.", ".output.dense."),
    (".norm2.", ".output.LayerNorm."),
)
"""Parts of names in paddle.nn's transformer, and their canonical forms."""
OTHERS = (
    ("._mean", ".running_mean"),
    ("._variance", ".running_var"),
    (".in_proj.", ".in_proj_"),  # PyTorch's MultiheadAttention has no separate layer for it
)
"""The same for all other names."""


class Tensor(Native):
    def assign(self, array: np.ndarray) -> None:
        self.tensor.set_value(placed(array).astype(self.tensor.dtype))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor)


def named(model: nn.Layer) -> dict[str, Native]:
    """All parameters and running statistics by canonical name.

    A tied parameter appears once, and so does an LSTM's, which its cells have under other names.
    Tensors that are not floating-point (an LSTM's dropout state), or not saved with a model, are
    left out.
    """
    found: dict[str, Native] = {}
    seen: set[int] = set()
    for prefix, layer in model.named_sublayers(include_self=True):
        linear = isinstance(layer, nn.Linear) and not isinstance(layer, Projection)
        tensors = (
            *layer.named_parameters(prefix, include_sublayers=False),
            *layer.named_buffers(prefix, include_sublayers=False),
        )
        unsaved = layer._non_persistable_buffer_names_set
        for name, tensor in tensors:
            if not tensor.is_floating_point() or name.rpartition(".")[2] in unsaved:
                continue
            if id(tensor) not in seen:
                seen.add(id(tensor))
                axes = (1, 0) if linear and tensor.ndim == 2 else ()  # kept as (in, out)
                found[canonical(name)] = Tensor(tensor, not tensor.stop_gradient, axes)
    return found


def placed(array: np.ndarray) -> paddle.Tensor:
    """A copy on the device."""
    # Paddle aborts if it runs out of memory while it makes an array contiguous; NumPy raises.
    return paddle.to_tensor(np.ascontiguousarray(array))


def to_numpy(tensor: paddle.Tensor) -> np.ndarray:
    """A contiguous copy in float32, or in float64 if `tensor` is float64."""
    dtype = paddle.float64 if tensor.dtype == paddle.float64 else paddle.float32
    return tensor.detach().astype(dtype).numpy()


def canonical(name: str) -> str:
    for native, known in CANONICAL if ENCODER in name else OTHERS:
        name = name.replace(native, known)
    return name
