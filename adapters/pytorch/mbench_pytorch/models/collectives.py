"""torch.distributed's own collectives, over gloo or NCCL.

See its documentation: "Distributed communication package", "Collective functions" and
"Point-to-point communication".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import distributed, nn

from mbench.sdk.exchange import Exchange, Transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators.collectives import Collective

    Begin = Callable[[torch.Tensor, torch.Tensor], Any]

__all__ = ["DIFFERENCES", "build", "forward"]

DIFFERENCES = (
    "all-reduce, reduce and broadcast work in place: the payload is copied first, in the time",
)


def in_place(function: Callable[..., Any], **settings: Any) -> Begin:
    def begin(x: torch.Tensor, into: torch.Tensor) -> Any:
        if into is not x:
            into.copy_(x)
        return function(into, async_op=True, **settings)

    return begin


def into_another(function: Callable[..., Any]) -> Begin:
    return lambda x, into: function(into, x, async_op=True)


def around(x: torch.Tensor, into: torch.Tensor) -> Transfers:
    """Send to the next rank, and receive from the previous one."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    sent = distributed.P2POp(distributed.isend, x, (rank + 1) % ranks)
    got = distributed.P2POp(distributed.irecv, into, (rank - 1) % ranks)
    return Transfers(distributed.batch_isend_irecv([sent, got]))


ALL_REDUCE = in_place(distributed.all_reduce)
BEGIN: dict[str, Begin] = {
    "all_reduce": ALL_REDUCE,
    "all_gather": into_another(distributed.all_gather_into_tensor),
    "broadcast": in_place(distributed.broadcast, src=0),
    "reduce": in_place(distributed.reduce, dst=0),
    "reduce_scatter": into_another(distributed.reduce_scatter_tensor),
    "send_receive": around,
    "overlap_mul": ALL_REDUCE,
    "overlap_matmul": ALL_REDUCE,
    "matmul_all_reduce": ALL_REDUCE,
    "matmul_all_gather": into_another(distributed.all_gather_into_tensor),
}


class Calls(nn.Module):
    def __init__(self, kind: Collective) -> None:
        super().__init__()
        self.exchange = Exchange(
            kind,
            BEGIN[kind.kind],
            rank=distributed.get_rank(),
            empty=lambda x: x.new_empty(kind.outputs()),
            product=torch.mm,
            multiply=torch.mul,
        )


def build(kind: Collective) -> Calls:
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What this rank receives in each call, "output.0", and computes meanwhile, "product.0"."""
    return model.exchange(batch)
