"""Several processes that train one model together, by tf.distribute's multi-worker strategy.

See TensorFlow's tutorial "Custom training loop with Keras and MultiWorkerMirroredStrategy". Each
process has its own variables, all loaded and updated in the same way. So only the mean of the
gradients is left to the strategy.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import tensorflow as tf
from tensorflow.python.eager import context

from mbench.sdk.network import interface_of, split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.rank import RankInfo
    from mbench_tensorflow.compiler import Backward, Eager

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["averaged", "differences", "join"]

ALL_REDUCE = {"cpu": "RING", "cuda": "NCCL"}
"""By device, as tf.distribute.experimental.CommunicationImplementation names it."""

PATIENCE_MS = 60 * 60 * 1000
"""How long a process may be silent before it counts as dead. Processes are stopped while others
have their turn, so TensorFlow's own 10 s is too short. The process that started them watches
them."""
LEADER = "/job:worker/replica:0/task:0"

joined: list[tf.distribute.Strategy] = []
"""This process's strategy, which can join others once, before anything is computed."""


def join(place: RankInfo, device: str) -> None:
    """Connect to the other processes, each of which listens at its own address.

    An exchange has no time limit, since TensorFlow would start a thread for each limit.
    """
    task = {"type": "worker", "index": place.rank}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": place.peers}, "task": task})
    interface = interface_of(split(place.own)[0])
    if device == "cuda" and interface:
        os.environ.setdefault("NCCL_SOCKET_IFNAME", interface)
    be_patient(place.ranks)
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation[ALL_REDUCE[device]]
    )
    joined.append(tf.distribute.MultiWorkerMirroredStrategy(communication_options=options))


def be_patient(ranks: int) -> None:
    """Configure the coordination service as the strategy would, except for how soon it gives up on
    a silent process: there is no public way to set that. The strategy keeps an existing service.
    """
    jobs = tf.compat.v1.ConfigProto().experimental.coordination_config.coordinated_job_list
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=LEADER,
        coordinated_jobs=[jobs.add(name="worker", num_tasks=ranks)],
        heartbeat_timeout_in_ms=PATIENCE_MS,
    )


def averaged(backward: Backward) -> Backward:
    """Like `backward`, but its gradients are the means over all processes."""
    (strategy,) = joined

    def replica(batch: Tensors) -> tuple[tf.Tensor, list[tf.Tensor]]:
        loss, gradients = backward(batch)
        among = tf.distribute.get_replica_context()
        return loss, among.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)

    def run(batch: Tensors) -> tuple[tf.Tensor, list[tf.Tensor]]:
        found: tuple[tf.Tensor, list[tf.Tensor]] = strategy.run(replica, args=(batch,))
        return found

    return run


def differences(device: str, compiler: Eager) -> list[str]:
    """What a reader should know about the exchange."""
    pieces = "in one piece" if compiler.packs else "one by one"
    said = (
        "gradients are exchanged by MultiWorkerMirroredStrategy's all-reduce "
        f"({ALL_REDUCE[device]}), {pieces}, when backward is done"
    )
    return [said, *compiler.parted]
