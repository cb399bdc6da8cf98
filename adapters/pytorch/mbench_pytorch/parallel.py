"""Several processes that train one model together: DistributedDataParallel, over gloo or NCCL.

This follows PyTorch's documentation: "Getting Started with Distributed Data Parallel" (tutorials),
`torch.nn.parallel.DistributedDataParallel`, and, for compilers, "Where to apply torch.compile?": to
what is wrapped, not to the wrapper.
"""

from __future__ import annotations

import inspect
import os
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mbench.sdk.network import interface_of, split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.rank import RankInfo

    Tensors = Mapping[str, torch.Tensor]
    Compute = Callable[[nn.Module, Tensors], torch.Tensor]

__all__ = ["differences", "join", "together"]

PATIENCE = timedelta(minutes=5)
"""How long a rank waits for another, which may still be compiling what this one found in a cache.
gloo reports a dead rank at once; this limit is for a broken connection."""
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
STOPPABLE = {"TORCH_NCCL_ENABLE_MONITORING": "0", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}
"""NCCL's watchdogs mistake a stopped process for a hanging one, and workers are stopped while
others have their turn. The process that started them watches them instead."""


def join(place: RankInfo, device: str) -> None:
    """Meet the other processes; returns when all are there."""
    interface = interface_of(split(place.own)[0])
    for name in INTERFACES if interface else ():
        os.environ.setdefault(name, interface)
    for name, value in STOPPABLE.items():
        os.environ.setdefault(name, value)
    torch.distributed.init_process_group(
        BACKENDS[device],
        init_method=f"tcp://{place.meet}",
        rank=place.rank,
        world_size=place.ranks,
        timeout=PATIENCE,
        device_id=torch.device("cuda", 0) if device == "cuda" else None,
    )


class Step(nn.Module):
    """Forward pass and loss as a module, which DistributedDataParallel wraps and calls."""

    def __init__(self, model: nn.Module, compute: Compute) -> None:
        super().__init__()
        self.model = model
        self.compute = compute

    def forward(self, batch: Tensors) -> torch.Tensor:
        return self.compute(self.model, batch)


def together(model: nn.Module, compute: Compute, device: torch.device) -> Compute:
    """`compute` wrapped so that its backward pass leaves the means of all ranks' gradients.

    Only gradients are exchanged in a step: each rank keeps its own buffers, which are running
    statistics. Raises RuntimeError if the ranks' models differ.
    """
    known = inspect.signature(DistributedDataParallel).parameters
    # It was called broadcast_buffers before PyTorch 2.13.
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    wrapped = DistributedDataParallel(
        Step(model, compute),
        device_ids=[0] if device.type == "cuda" else None,
        **{buffers: False},
    )
    return lambda _, batch: wrapped(batch)


def differences(device: torch.device, *, split: bool) -> list[str]:
    """What a reader should know about the exchange; `split`: whether the step is compiled."""
    found = [
        f"gradients are exchanged by DistributedDataParallel over {BACKENDS[device.type]}, in "
        "buckets of 25 MB, while backward goes on"
    ]
    if split:
        found.append("DDPOptimizer splits what torch.compile compiles where buckets end")
    return found
