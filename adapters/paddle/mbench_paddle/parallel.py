"""Several processes that train one model together: paddle.DataParallel, over gloo or NCCL.

See PaddlePaddle's API reference, "paddle.DataParallel" and "paddle.distributed.init_parallel_env",
and for the variables that its launcher sets for each process, "paddle.distributed.ParallelEnv".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import paddle
import paddle.distributed
from paddle import nn

from mbench.sdk.network import interface_of, split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.rank import RankInfo

    Tensors = Mapping[str, paddle.Tensor]
    Compute = Callable[[Tensors], paddle.Tensor]

__all__ = ["differences", "join", "together"]

BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")


def join(place: RankInfo, device: str) -> None:
    """Connect to the other processes; returns when all are connected."""
    interface = interface_of(split(place.own)[0])
    for name in INTERFACES if interface else ():
        os.environ.setdefault(name, interface)
    address, port = split(place.meet)
    variables = {
        "PADDLE_TRAINER_ID": str(place.rank),
        "PADDLE_TRAINERS_NUM": str(place.ranks),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(place.peers),
        "PADDLE_CURRENT_ENDPOINT": place.own,
        "PADDLE_MASTER": place.meet,
        "MASTER_ADDR": address,  # one left by another launcher would override PADDLE_MASTER
        "MASTER_PORT": str(port),
        "PADDLE_DISTRI_BACKEND": BACKENDS[device],
        "FLAGS_selected_gpus": "0",  # of those that this process sees
    }
    os.environ.update(variables)
    paddle.distributed.init_parallel_env()


class Step(nn.Layer):
    """Forward pass and loss as a layer, which DataParallel wraps and calls."""

    def __init__(self, model: nn.Layer, compute: Compute) -> None:
        super().__init__()
        self.model = model
        self.compute = compute

    def forward(self, batch: Tensors) -> paddle.Tensor:
        return self.compute(batch)


def together(model: nn.Layer, compute: Compute) -> Compute:
    """`compute` wrapped so that its backward pass leaves the means of all processes' gradients.

    Parameters and running statistics are sent from the first process to the others once, here.
    """
    wrapped: Compute = paddle.DataParallel(Step(model, compute))
    return wrapped


def differences(device: str, *, one_graph: bool) -> list[str]:
    """What a reader should know; `one_graph`: backward returns all gradients at once."""
    when = "when backward is done: it is one graph" if one_graph else "while backward goes on"
    return [
        f"gradients are exchanged by paddle.DataParallel over {BACKENDS[device]}, in buckets of "
        f"25 MB, {when}"
    ]
