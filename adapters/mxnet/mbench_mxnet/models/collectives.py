"""The collective of MXNet's distributed KVStore: `pushpull`, the sum for all ranks.

See MXNet's API reference, "mxnet.kvstore". The KVStore broadcasts only a key's first value, once.
Servers may add float64 up in float32 (parallel.py), so float64 is sent as float32, which is exact
for whole numbers.

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet import gluon, nd

from mbench.sdk.checks import require
from mbench_mxnet import parallel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.operators.collectives import Collective

__all__ = ["build", "forward"]

LACKING = "MXNet's KVStore has no {}: it adds up, for all ranks"
SHARDED = "matmul_all_reduce"
MEANWHILE = "MXNet starts no exchange by itself: its engine decides what runs meanwhile"


class Calls(gluon.HybridBlock):
    """The calls of a step, each with a key that the servers know, and memory for its result."""

    differences = (
        "all-reduce is pushpull of the distributed KVStore: servers add up, one beside each rank",
        "it works in place: the payload is copied first, in the time",
    )

    def __init__(self, kind: Collective) -> None:
        super().__init__()
        self.kind = kind
        self.rooms: list[nd.NDArray] = []
        self.keys: list[int] = []

    def prepared(self, batch: Mapping[str, Any]) -> list[tuple[int, nd.NDArray, nd.NDArray]]:
        """The key of each call, its payload, and room for the sum."""
        calls = range(self.kind.calls)
        if self.kind.kind == SHARDED:
            payloads = [nd.dot(batch[f"a.{call}"], batch[f"b.{call}"]) for call in calls]
        else:
            payloads = [batch[f"x.{call}"] for call in calls]
        if not self.rooms:
            kind = np.float32 if payloads[0].dtype == np.float64 else payloads[0].dtype
            self.rooms = [nd.zeros_like(x).astype(kind) for x in payloads]
            self.keys = parallel.known(self.rooms)
        return list(zip(self.keys, payloads, self.rooms, strict=True))


def build(kind: Collective) -> Calls:
    """Raises Unsupported for what MXNet does not have."""
    require(not kind.kind.startswith("overlap"), MEANWHILE)
    require(kind.kind in ("all_reduce", SHARDED), LACKING.format(kind.kind))
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, Any]) -> dict[str, Any]:
    """What this rank receives in each call: "output.0"."""
    found = {}
    for call, (key, x, room) in enumerate(model.prepared(batch)):
        x.copyto(room)  # given a separate output, pushpull leaves the sum in the payload too
        parallel.store.pushpull(key, room, priority=-call)
        found[f"output.{call}"] = room.astype(x.dtype, copy=False)
    return found
