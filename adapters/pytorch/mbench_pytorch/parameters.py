"""The model's tensors by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    import numpy as np
    from torch import nn

__all__ = ["named", "to_numpy"]

UNCOUNTED = (
    "num_batches_tracked", "position_ids", "token_type_ids", "rotary_cosines", "rotary_sines",
    "pos_embed", "t_embedder.waves",
)  # fmt: skip
"""Buffers that are left out: batch norm's count of batches, on which nothing depends with a fixed
momentum, and indices and tables of fixed numbers."""


class Tensor(Native):
    @torch.no_grad()
    def assign(self, array: np.ndarray) -> None:
        self.tensor.copy_(torch.tensor(array))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor)


def named(model: nn.Module) -> dict[str, Native]:
    """All parameters and running statistics by canonical name.

    A tied parameter appears once, under its first name: BERT's decoder is the word embedding.
    """
    tensors = {name: Tensor(p, p.requires_grad) for name, p in model.named_parameters()}
    buffers = {name: Tensor(b, trainable=False) for name, b in model.named_buffers()}
    return tensors | {name: b for name, b in buffers.items() if not name.endswith(UNCOUNTED)}


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A contiguous copy in float32, or in float64 if `tensor` is float64."""
    dtype = torch.promote_types(tensor.dtype, torch.float32)
    copy = tensor.detach().to("cpu", dtype, copy=True, memory_format=torch.contiguous_format)
    return copy.numpy()
