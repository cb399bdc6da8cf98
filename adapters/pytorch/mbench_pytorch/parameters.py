"""Canonical tensors to and from the model's own; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from torch import nn

__all__ = ["load", "named", "read", "trainable"]

COUNTERS = ("num_batches_tracked",)
"""Batch norm counts its batches; with a fixed momentum nothing depends on it."""
CONSTANTS = ("position_ids", "token_type_ids")
"""Indices that transformers keeps as buffers; no step changes them."""


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that the optimizer updates, by canonical name.

    A tied parameter appears once, under its first name: BERT's decoder is the word embedding.
    """
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def named(model: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and running statistics by canonical name."""
    found: dict[str, torch.Tensor] = dict(model.named_parameters())
    for name, buffer in model.named_buffers():
        if leaf(name) not in COUNTERS + CONSTANTS:
            found[name] = buffer
    return found


@torch.no_grad()
def load(model: nn.Module, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
    """Copy `arrays` into the model, and set its counters back.

    Raises ValueError for a name that the model lacks or that comes twice, for a wrong shape,
    and for a tensor left out.
    """
    missing = named(model)
    for name, array in arrays:
        tensor = missing.pop(name, None)
        if tensor is None:
            raise ValueError(f"the model has no {name}, or it came before")
        if tensor.shape != array.shape:
            raise ValueError(f"{name} is {tuple(tensor.shape)} in the model, not {array.shape}")
        tensor.copy_(torch.tensor(array))
    if missing:
        raise ValueError(f"the model has {next(iter(missing))}, which was left out")
    for name, buffer in model.named_buffers():
        if leaf(name) in COUNTERS:
            buffer.zero_()


def read(model: nn.Module) -> Iterator[tuple[str, np.ndarray]]:
    """Copies of all tensors, one at a time; half precision widened to float32."""
    for name, tensor in named(model).items():
        yield name, to_numpy(tensor)


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A contiguous copy in float32, or in float64 where `tensor` is."""
    dtype = torch.promote_types(tensor.dtype, torch.float32)
    copy = tensor.detach().to("cpu", dtype, copy=True, memory_format=torch.contiguous_format)
    array: np.ndarray = copy.numpy()
    return array


def leaf(name: str) -> str:
    return name.rpartition(".")[2]
