"""Several processes that train one model: MXNet's distributed KVStore, and the servers behind it.

See "Distributed Training in MXNet". Rank 0 starts the scheduler, and each rank starts one server.
Servers add gradients up; ranks update (`update_on_kvstore=False`), since clipping comes in between.
Nothing here depends on MXNet's own rank, which is not mbench's.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mxnet as mx
import numpy as np
from mxnet import nd

from mbench.sdk.network import interface_of, split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.rank import RankInfo

__all__ = ["Exchange", "join", "known"]

TYPES = {"cpu": "dist_sync", "cuda": "dist_device_sync"}
BIG = "MXNET_KVSTORE_BIGARRAY_BOUND"
BIG_DEFAULT = 1_000_000
MANTISSA = 24
"""Bits of an integer that float32 holds exactly."""
PARTS = 3
"""Number of integers that a float64 is exchanged as: together, more bits than its mantissa."""
LEAST = -500
"""Least exponent of the powers of two that scale gradients: float64 ends at twice that."""

store: Any = None
"""This process's store: MXNet's network is set up once."""
keys: dict[tuple[Any, ...], int] = {}
"""Keys that the servers know, by shape, type and number among arrays that share both. The next case
uses them too: servers forget none."""


def join(place: RankInfo, device: str) -> None:
    """Start what this rank must run, and connect to the other processes; once in a process."""
    global store
    address, port = split(place.meet)
    own = socket.gethostbyname(split(place.own)[0])
    found = {
        "DMLC_PS_ROOT_URI": socket.gethostbyname(address),  # ps-lite binds to IP addresses only
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(place.ranks),
        "DMLC_NUM_SERVER": str(place.ranks),
    }
    interface = interface_of(own)
    found |= {"DMLC_INTERFACE": interface} if interface else {"DMLC_NODE_HOST": own}
    for role in ("scheduler", "server") if place.rank == 0 else ("server",):
        start(role, found)
    os.environ.update(found, DMLC_ROLE="worker")  # where ps-lite looks for them
    store = mx.kv.create(TYPES[device])
    assert store.num_workers == place.ranks, f"{store.num_workers} of {place.ranks} ranks are here"


def start(role: str, variables: Mapping[str, str]) -> None:
    """Start a child of this rank, in its process group: it is stopped, resumed and killed with the
    rank. It sums with one thread, and sees no GPU.
    """
    child = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("server.py")), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            **variables,
            "DMLC_ROLE": role,
            "OMP_NUM_THREADS": "1",
            "CUDA_VISIBLE_DEVICES": "",
        },
    )
    threading.Thread(target=watch, args=(child, role), daemon=True).start()


def watch(child: subprocess.Popen[bytes], role: str) -> None:
    """End this rank if its child fails: MXNet would wait for it forever."""
    code = child.wait()
    if code:
        print(f"MXNet's {role} ended with {code}", file=sys.stderr, flush=True)
        os._exit(1)


def known(arrays: Sequence[nd.NDArray]) -> list[int]:
    """The key of each array, which the servers know from now on."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found, new = [], {}
    for array in arrays:
        kind = (array.shape, array.dtype)
        name = (*kind, seen[kind])
        seen[kind] += 1
        if name not in keys:
            keys[name] = len(keys)
            new[keys[name]] = array
        found.append(keys[name])
    if new:
        store.init(list(new), list(new.values()))
    return found


class Exchange:
    """Makes each gradient the sum of all ranks', in place, as Gluon's Trainer.allreduce_grads does.

    MXNet's engine pushes each gradient once backward has computed it, the first layers' before
    others. Only one case is exchanged at a time: the next one uses the same keys.
    """

    def __init__(self, gradients: Sequence[nd.NDArray], place: RankInfo, *, exact: bool) -> None:
        self.gradients = gradients
        self.place = place
        sent = gradients
        if exact:
            self.bits = MANTISSA - (place.ranks - 1).bit_length()
            sent = [nd.zeros(gradient.shape, ctx=gradient.context) for gradient in gradients]
            sent.append(nd.zeros((place.ranks, len(gradients))))
        self.sent = list(zip(known(sent), sent, strict=True))
        bound = os.environ.get(BIG, BIG_DEFAULT)
        self.differences = [
            f"gradients are added up by the servers of MXNet's {store.type} KVStore, one beside "
            f"each rank, while backward goes on; those of {bound} numbers and more by all servers, "
            f"each a part, others by one ({BIG})"
        ]
        if exact:
            self.differences.append(
                f"in fp64 a gradient is exchanged as {PARTS} whole numbers of {self.bits} bits in "
                "float32, for servers may add float64 up in float32"
            )
        self.run = self.sum_exactly if exact else self.sum

    def __call__(self) -> None:
        """Enqueue the exchange."""
        self.run()

    def sum(self) -> None:
        for at, (key, gradient) in enumerate(self.sent):
            store.pushpull(key, gradient, priority=-at)

    def sum_exactly(self) -> None:
        """Sum float64, which MXNet's server adds up in float32 if its switch for multiple
        precisions is on. The switch is uninitialized (kvstore_dist_server.h), so it may be either.

        Integers small enough for float32 to hold their sum are sent, from the highest bits down.
        Gradients are summed one at a time, since this takes several times their memory.
        """
        *sent, scales = self.sent
        powers = self.largest(*scales)
        for gradient, (key, part), power in zip(self.gradients, sent, powers, strict=True):
            total = nd.zeros_like(gradient)
            for number in range(1, PARTS + 1):
                unit = 2.0 ** (power - number * self.bits)
                whole = (gradient / unit).trunc()
                gradient -= whole * unit
                whole.copyto(part)
                store.pushpull(key, part)
                total += part.astype("float64") * unit
            total.copyto(gradient)
            gradient.wait_to_read()

    def largest(self, key: int, own: nd.NDArray) -> list[int]:
        """For each gradient, the exponent of a power of two above all ranks' numbers: each rank
        adds its row.
        """
        found = [gradient.abs().max().asscalar() for gradient in self.gradients]
        rows = np.zeros(own.shape, np.float32)
        rows[self.place.rank] = np.maximum(np.frexp(found)[1], LEAST)
        own[:] = rows
        store.pushpull(key, own)
        return [int(power) for power in own.asnumpy().max(axis=0)]
