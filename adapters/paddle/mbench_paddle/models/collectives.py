"""Collectives as paddle.distributed's own, over gloo or NCCL.

As PaddlePaddle's API reference has them: "paddle.distributed", "Collective communication".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle
from paddle import distributed, nn

from mbench.sdk.checks import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators.collectives import Collective

    Begin = Callable[[paddle.Tensor, paddle.Tensor], Any]

__all__ = ["DIFFERENCES", "build", "forward"]

DIFFERENCES = (
    "all-reduce, reduce and broadcast work in place: the payload is copied first, in the time",
)


def in_place(function: Callable[..., Any], **settings: Any) -> Begin:
    def begin(x: paddle.Tensor, into: paddle.Tensor) -> Any:
        if into is not x:
            paddle.assign(x, output=into)
        return function(into, sync_op=False, **settings)

    return begin


def into_another(function: Callable[..., Any]) -> Begin:
    return lambda x, into: function(into, x, sync_op=False)


ALL_REDUCE = in_place(distributed.all_reduce)
BEGIN: dict[str, Begin] = {
    "all_reduce": ALL_REDUCE,
    "all_gather": into_another(distributed.stream.all_gather),
    "broadcast": in_place(distributed.broadcast, src=0),
    "reduce": in_place(distributed.reduce, dst=0),
    "reduce_scatter": into_another(distributed.stream.reduce_scatter),
    "overlap_mul": ALL_REDUCE,
    "overlap_matmul": ALL_REDUCE,
    "matmul_all_reduce": ALL_REDUCE,
    "matmul_all_gather": into_another(distributed.stream.all_gather),
}
FIRST = {"matmul_all_reduce": paddle.matmul, "matmul_all_gather": paddle.matmul}
MEANWHILE = {"overlap_mul": paddle.multiply, "overlap_matmul": paddle.matmul}


class Calls(nn.Layer):
    """So many calls, each with memory of its own for what it gets."""

    def __init__(self, kind: Collective) -> None:
        super().__init__()
        self.kind = kind
        self.begin = BEGIN[kind.kind]
        self.first = FIRST.get(kind.kind)
        self.meanwhile = MEANWHILE.get(kind.kind)
        self.gets = kind.kind != "reduce" or distributed.get_rank() == 0
        self.rooms: list[dict[int, paddle.Tensor]] = [{}]

    def room_of(self, call: int, x: paddle.Tensor) -> paddle.Tensor:
        (rooms,) = self.rooms
        if call not in rooms:
            rooms[call] = paddle.empty(self.kind.outputs(), x.dtype)
        return rooms[call]


def build(kind: Collective) -> Calls:
    """Raises Unsupported for what PaddlePaddle does not do over gloo."""
    if paddle.get_device() == "cpu":
        said = "PaddlePaddle has no reduce-scatter over gloo"
        require(kind.kind != "reduce_scatter", said)
        said = "PaddlePaddle's gloo returns when an exchange is done: nothing can run meanwhile"
        require(kind.kind not in MEANWHILE, said)
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
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
