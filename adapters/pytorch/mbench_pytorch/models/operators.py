"""Operators as PyTorch's own layers and functions.

Shapes: named after the sizes of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from mbench_pytorch import recurrent
from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators import Kind

__all__ = ["build", "forward"]

DIFFERENCES_OF = {
    "attention": (ATTENTION,),
    "grouped_attention": (ATTENTION,),
    "lstm": recurrent.DIFFERENCES,
}


class MatMul(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(kind.k, kind.n))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, self.weight)


class Weight(nn.Module):
    """The parameter to update. It computes nothing."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(kind.elements))

    def forward(self, gradient: torch.Tensor) -> torch.Tensor:
        return self.weight


class Attention(nn.Module):
    """Attention on (b, l, heads * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.shape = (kind.b, kind.l, kind.heads, kind.width)

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        query, key, value = (tensor.view(self.shape).transpose(1, 2) for tensor in tensors)
        found = functional.scaled_dot_product_attention(query, key, value)
        return found.transpose(1, 2).flatten(2)


class Rotary(nn.Module):
    """Rotations of (b, l, heads * width), as in transformers' apply_rotary_pos_emb."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.width = kind.width
        for name, table in zip(("cosines", "sines"), kind.rotations(), strict=True):
            whole = torch.tensor(table).repeat(1, 2)[:, None]  # (l, 1, width)
            self.register_buffer(f"rotary_{name}", whole, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.unflatten(2, (-1, self.width))
        one, other = heads.chunk(2, dim=-1)
        turned = torch.cat((-other, one), dim=-1)
        return (heads * self.rotary_cosines + turned * self.rotary_sines).flatten(2)


class GroupedAttention(nn.Module):
    """Attention on (b, l, heads * width), with keys and values (b, t, shared * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.width = kind.width
        self.settings = {"is_causal": kind.l > 1, "enable_gqa": kind.heads != kind.shared}

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            tensor.unflatten(2, (-1, self.width)).transpose(1, 2) for tensor in tensors
        )
        found = functional.scaled_dot_product_attention(query, key, value, **self.settings)
        return found.transpose(1, 2).flatten(2)


class Function(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor], **settings: Any) -> None:
        super().__init__()
        self.function = function
        self.settings = settings

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.function(*tensors, **self.settings)


def gated(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return functional.silu(gate) * x


def mean_pool(x: torch.Tensor) -> torch.Tensor:
    return functional.adaptive_avg_pool2d(x, 1).flatten(1)


LAYERS: dict[str, Callable[[Any], nn.Module]] = {
    "matmul": MatMul,
    "bmm": lambda kind: Function(torch.bmm),
    "linear": lambda kind: nn.Linear(kind.features, kind.units, bool(kind.bias)),
    "conv2d": lambda kind: nn.Conv2d(
        kind.c, kind.filters, kind.kernel, kind.stride, kind.padding, groups=kind.groups, bias=False
    ),
    "attention": Attention,
    "batch_norm": lambda kind: nn.BatchNorm2d(kind.c, kind.epsilon, kind.momentum),
    "layer_norm": lambda kind: nn.LayerNorm(kind.features, kind.epsilon),
    "softmax": lambda kind: nn.Softmax(-1),
    "cross_entropy": lambda kind: Function(functional.cross_entropy),
    "relu": lambda kind: Function(functional.relu),
    "gelu": lambda kind: Function(functional.gelu),
    "add": lambda kind: Function(torch.add),
    "empty": lambda kind: nn.Identity(),
    "max_pool": lambda kind: Function(
        functional.max_pool2d, kernel_size=kind.kernel, stride=kind.stride, padding=kind.padding
    ),
    "mean_pool": lambda kind: Function(mean_pool),
    "embedding": lambda kind: nn.Embedding(kind.vocabulary, kind.features),
    "embedding_bag": lambda kind: nn.EmbeddingBag(kind.vocabulary, kind.features, mode="sum"),
    "rms_norm": lambda kind: nn.RMSNorm(kind.hidden, kind.epsilon),
    "rotary": Rotary,
    "grouped_attention": GroupedAttention,
    "swiglu": lambda kind: Function(gated),
    "lstm": lambda kind: recurrent.LSTM(kind.features, kind.hidden, batch_first=True),
    "sgd": Weight,
    "adamw": Weight,
}


class Calls(nn.Module):
    """`kind.calls` calls of an operator, each with its own weights.

    A small operator takes hardly longer than Python needs to look up its operands. So names are
    prepared in advance, and the operands of all calls are taken from the batch at once.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.differences = DIFFERENCES_OF.get(kind.kind, ())
        self.calls = nn.ModuleList(LAYERS[kind.kind](kind) for _ in range(kind.calls))
        self.layers = tuple(self.calls)
        self.outputs = [f"output.{at}" for at in range(kind.calls)]
        self.inputs = [[f"{one.name}.{at}" for at in range(kind.calls)] for one in kind.inputs()]


def build(kind: Kind) -> Calls:
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The output of each call: "output.0"."""
    operands = zip(*[[batch[name] for name in names] for names in model.inputs], strict=True)
    found = [call(*each) for call, each in zip(model.layers, operands, strict=True)]
    return dict(zip(model.outputs, found, strict=True))
