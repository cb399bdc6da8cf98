"""paddle.distributed's own collectives, over gloo or NCCL.

See PaddlePaddle's API reference: "paddle.distributed", "Collective communication", and
"batch_isend_irecv".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle
from paddle import distributed, nn

from mbench.sdk.checks import require
from mbench.sdk.exchange import Exchange, Transfers

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


def around(x: paddle.Tensor, into: paddle.Tensor) -> Transfers:
    """Send to the next rank, and receive from the previous one.

    Over gloo, each of the two returns only when it is done, and a rank's first operation must match
    another's first. So every second rank receives before it sends.
    """
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    sent = distributed.P2POp(distributed.isend, x, (rank + 1) % ranks)
    got = distributed.P2POp(distributed.irecv, into, (rank - 1) % ranks)
    in_order = [got, sent] if rank % 2 and x.place.is_cpu_place() else [sent, got]
    return Transfers(distributed.batch_isend_irecv(in_order))


ALL_REDUCE = in_place(distributed.all_reduce)
BEGIN: dict[str, Begin] = {
    "all_reduce": ALL_REDUCE,
    "all_gather": into_another(distributed.stream.all_gather),
    "broadcast": in_place(distributed.broadcast, src=0),
    "reduce": in_place(distributed.reduce, dst=0),
    "reduce_scatter": into_another(distributed.stream.reduce_scatter),
    "send_receive": around,
    "overlap_mul": ALL_REDUCE,
    "overlap_matmul": ALL_REDUCE,
    "matmul_all_reduce": ALL_REDUCE,
    "matmul_all_gather": into_another(distributed.stream.all_gather),
}


class Calls(nn.Layer):
    def __init__(self, kind: Collective) -> None:
        super().__init__()
        self.exchange = Exchange(
            kind,
            BEGIN[kind.kind],
            rank=distributed.get_rank(),
            empty=lambda x: paddle.empty(kind.outputs(), x.dtype),
            product=paddle.matmul,
            multiply=paddle.multiply,
        )


def build(kind: Collective) -> Calls:
    """Raises Unsupported for what PaddlePaddle does not do over gloo."""
    if paddle.get_device() == "cpu":
        said = "PaddlePaddle has no reduce-scatter over gloo"
        require(kind.kind != "reduce_scatter", said)
        said = "PaddlePaddle's gloo returns when an exchange is done: nothing can run meanwhile"
        require(not kind.kind.startswith("overlap_"), said)
        said = "PaddlePaddle's gloo has no ring of an odd number of ranks: its sends go in pairs"
        require(kind.kind != "send_receive" or kind.ranks % 2 == 0, said)
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """What this rank receives in each call, "output.0", and computes meanwhile, "product.0"."""
    return model.exchange(batch)
