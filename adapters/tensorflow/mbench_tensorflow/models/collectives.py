"""TensorFlow's collectives: a replica context's, and broadcast as a raw operation.

See TensorFlow's API reference, "tf.distribute.ReplicaContext" and
"tf.raw_ops.CollectiveBcastSendV2".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from mbench.sdk.checks import require
from mbench_tensorflow.parallel import ALL_REDUCE, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators.collectives import Collective

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["build", "forward"]

GROUP = 7001
"""Key of the ranks as a group. The strategy's own keys count from 1, and do not reach it."""

keys: dict[tuple[Any, ...], int] = {}
"""Instance keys of broadcasts, by call, type and shape, to which TensorFlow ties each key."""


def all_reduce(x: tf.Tensor, call: int) -> tf.Tensor:
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x)


def all_gather(x: tf.Tensor, call: int) -> tf.Tensor:
    return tf.distribute.get_replica_context().all_gather(x, axis=0)


def broadcast(x: tf.Tensor, call: int) -> tf.Tensor:
    """The `call`-th broadcast of a step; rank 0 sends."""
    (strategy,) = joined
    of_group = {
        "group_size": strategy.extended._num_workers,
        "group_key": GROUP,
        "instance_key": keys.setdefault((call, x.dtype, tuple(x.shape)), len(keys)),
        "communication_hint": "nccl" if "GPU" in x.device else "ring",
    }
    if strategy.cluster_resolver.task_id == 0:
        return tf.raw_ops.CollectiveBcastSendV2(input=x, **of_group)
    return tf.raw_ops.CollectiveBcastRecvV2(T=x.dtype, shape=tf.shape(x), **of_group)


FUNCTIONS: dict[str, Callable[[tf.Tensor, int], tf.Tensor]] = {
    "all_reduce": all_reduce,
    "all_gather": all_gather,
    "broadcast": broadcast,
    "matmul_all_reduce": all_reduce,
    "matmul_all_gather": all_gather,
}
SHARDED = ("matmul_all_reduce", "matmul_all_gather")
MEANWHILE = "TensorFlow starts no exchange by itself: its executor decides what runs meanwhile"
LACKING = {
    "reduce": "TensorFlow has no reduce between processes that leaves the sum with one",
    "reduce_scatter": "TensorFlow's reduce-scatter has no code for the CPU, and its adapter does "
    "not use it",
    "send_receive": "TensorFlow has no sends between processes that its API lets a program make",
    "overlap_mul": MEANWHILE,
    "overlap_matmul": MEANWHILE,
}


class Calls(keras.Model):
    """The calls of a step, without weights."""

    differences = (
        f"collectives are those of MultiWorkerMirroredStrategy ({ALL_REDUCE['cpu']} on the CPU, "
        f"{ALL_REDUCE['cuda']} on CUDA), broadcast tf.raw_ops'",
    )

    def __init__(self, kind: Collective) -> None:
        super().__init__(name="collectives", autocast=False)
        self.function = FUNCTIONS[kind.kind]
        self.count = kind.calls
        self.sharded = kind.kind in SHARDED

    def gives(self, batch: Tensors, call: int) -> tf.Tensor:
        """What this rank sends, as an operation's result: only these have a device in a graph."""
        if self.sharded:
            return tf.matmul(batch[f"a.{call}"], batch[f"b.{call}"])
        return tf.identity(batch[f"x.{call}"])


def build(kind: Collective) -> Calls:
    """Raises Unsupported for what TensorFlow does not have."""
    require(kind.kind in FUNCTIONS, LACKING.get(kind.kind, f"TensorFlow has no {kind.kind}"))
    return Calls(kind)


def forward(model: Calls, batch: Tensors, *, training: bool) -> dict[str, tf.Tensor]:
    """What this rank receives in each call: "output.0"."""
    (strategy,) = joined

    def replica(payloads: Tensors) -> dict[str, tf.Tensor]:
        return {
            f"output.{at}": model.function(model.gives(payloads, at), at)
            for at in range(model.count)
        }

    found: dict[str, tf.Tensor] = strategy.run(replica, args=(dict(batch),))
    return found
