"""A case in int8: linear layers are PyTorch's dynamically quantised ones, with the core's integers.

Shapes: B batch, L sequence, D hidden, H heads.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from mbench.sdk.quantized import Quantized
from mbench_pytorch.runtime import Benchmark as Plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from mbench.sdk.tensors import Native

__all__ = ["Benchmark"]


class Linear(nn.Module):
    """A linear layer that rounds activations in each call: one scale and zero point per tensor."""

    def __init__(self, inputs: int, outputs: int, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.shape = (outputs, inputs)
        self.bias = bias
        self.weight: torch.Tensor | None = None
        """Set only between loading and packing."""
        # Without VNNI, sums of two 8-bit products saturate at 16 bits.
        self.reduced = not torch.cpu._is_vnni_supported()

    def pack(self) -> None:
        """Pack weight and bias into the layout of the engine."""
        if self.weight is not None:
            self.packed = torch.ops.quantized.linear_prepack(self.weight, self.bias)
            self.weight = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.quantized.linear_dynamic(x, self.packed, self.reduced)
        return found


class SelfAttention(nn.Module):
    """torchvision's self-attention, computed by layers: nn.MultiheadAttention would not call them,
    but take its weights apart itself.
    """

    def __init__(self, own: nn.MultiheadAttention) -> None:
        super().__init__()
        self.heads = own.num_heads
        hidden = own.embed_dim
        self.projected = Linear(hidden, 3 * hidden, own.in_proj_bias)
        self.out_proj = Linear(hidden, hidden, own.out_proj.bias)

    def forward(self, x: torch.Tensor, *_: Any, **settings: Any) -> tuple[torch.Tensor, None]:
        """(B, L, D) -> (B, L, D)."""
        shape = (*x.shape[:2], 3, self.heads, -1)
        query, key, value = self.projected(x).view(shape).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(query, key, value)
        return self.out_proj(found.transpose(1, 2).flatten(2)), None


class Weight(Quantized):
    """A weight whose `tensor` is the layer, which holds the packed integers."""

    @property
    def shape(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.tensor.shape
        return found

    def take(self, integers: np.ndarray, scales: np.ndarray) -> None:
        kept, zeros = torch.from_numpy(integers), torch.zeros(len(scales), dtype=torch.int64)
        with warnings.catch_warnings():  # PyTorch plans to drop tensors of this kind
            warnings.filterwarnings("ignore", message=".*quantized tensor creation functions")
            self.tensor.weight = torch._make_per_channel_quantized_tensor(
                kept, torch.from_numpy(scales), zeros, 0
            )

    def integers(self) -> tuple[np.ndarray, np.ndarray]:
        """The integers that the layer multiplies by, unpacked, and their scales."""
        weight, _ = torch.ops.quantized.linear_unpack(self.tensor.packed)
        return weight.int_repr().numpy(), weight.q_per_channel_scales().float().numpy()


class Benchmark(Plain):
    """A case in PyTorch on integers; nothing is compiled."""

    def build(self) -> nn.Module:
        model = super().build()
        self.layers = dict(replaced(model, {tensor.name for tensor in self.workload.tensors()}))
        return model

    def check(self) -> None:
        self.differences += getattr(self.model, "differences", ())
        engine, bits = torch.backends.quantized.engine, 8
        if any(layer.reduced for layer in self.layers.values()):
            bits = 7
        self.differences.append(
            f"int8: quantized::linear_dynamic by {engine} rounds activations to {bits} bits, all "
            "of a tensor by one scale and zero point"
        )

    def natives(self) -> dict[str, Native]:
        known = {name: one for name, one in super().natives().items() if name not in self.layers}
        biases = {
            f"{name.removesuffix('in_proj_weight')}in_proj_bias": known.pop(inner)
            for name in self.layers
            if name.endswith("in_proj_weight")
            for inner in [f"{name.removesuffix('in_proj_weight')}projected.bias"]
        }
        return {**known, **biases, **{name: Weight(one, True) for name, one in self.layers.items()}}

    def loaded(self) -> None:
        for layer in self.layers.values():
            layer.pack()
        super().loaded()


def replaced(model: nn.Module, names: set[str]) -> Iterator[tuple[str, Linear]]:
    """Replaces linear layers whose weights are among the canonical `names` by quantised ones;
    yields these by the names of their weights. A head tied to the word embedding stays as it is.
    """
    for path, parent in list(model.named_modules()):
        if isinstance(parent, nn.MultiheadAttention):
            continue  # replaced whole
        for name, layer in list(parent.named_children()):
            at = f"{path}.{name}" if path else name
            if isinstance(layer, nn.MultiheadAttention):
                own = SelfAttention(layer)
                setattr(parent, name, own)
                yield f"{at}.in_proj_weight", own.projected
                yield f"{at}.out_proj.weight", own.out_proj
            elif isinstance(layer, nn.Linear) and f"{at}.weight" in names:
                made = Linear(layer.in_features, layer.out_features, layer.bias)
                setattr(parent, name, made)
                yield f"{at}.weight", made
