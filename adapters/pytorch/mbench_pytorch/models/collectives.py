"""Collectives as torch.distributed's own, over gloo or NCCL.

As its documentation has them: "Distributed communication package", "Collective functions" and
"Point-to-point communication".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import distributed, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


class Transfers:
    """Several that are under way, to be waited for together."""

    def __init__(self, works: Sequence[Any]) -> None:
        self.works = works

    def wait(self) -> None:
        for work in self.works:
            work.wait()


def around(x: torch.Tensor, into: torch.Tensor) -> Transfers:
    """To the rank after this one, and from the one before it."""
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
FIRST = {"matmul_all_reduce": torch.mm, "matmul_all_gather": torch.mm}
MEANWHILE = {"overlap_mul": torch.mul, "overlap_matmul": torch.mm}


class Calls(nn.Module):
    """So many calls, each with memory of its own for what it gets."""

    def __init__(self, kind: Collective) -> None:
        super().__init__()
        self.kind = kind
        self.begin = BEGIN[kind.kind]
        self.first = FIRST.get(kind.kind)
        self.meanwhile = MEANWHILE.get(kind.kind)
        self.gets = kind.kind != "reduce" or distributed.get_rank() == 0
        self.room: dict[int, torch.Tensor] = {}

    def room_of(self, call: int, x: torch.Tensor) -> torch.Tensor:
        if call not in self.room:
            self.room[call] = x.new_empty(self.kind.outputs())
        return self.room[call]


def build(kind: Collective) -> Calls:
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What this rank gets of each call, "output.0", and what it computes beside: "product.0"."""
    found = {}
    for call in range(model.kind.calls):
        if model.first is None:
            x = batch[f"x.{call}"]
        else:
            x = model.first(batch[f"a.{call}"], batch[f"b.{call}"])
        # A product is nobody's yet, and can be added up where it lies.
        into = x if model.kind.kind == "matmul_all_reduce" else model.room_of(call, x)
        work = model.begin(x, into)
        if model.meanwhile is not None:
            found[f"product.{call}"] = model.meanwhile(batch[f"a.{call}"], batch[f"b.{call}"])
        work.wait()
        if model.gets:
            found[f"output.{call}"] = into
    return found
