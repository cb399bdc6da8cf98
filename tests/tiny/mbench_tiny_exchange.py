"""How processes of the tiny framework add up gradients: the first one receives all the others'."""

from __future__ import annotations

import socket
import time

import numpy as np

CONNECT_SECONDS = 20.0


class Exchange:
    """A star of sockets. `lie` is what flaky tells: apart (nothing is exchanged), summed (no mean),
    led (all take the first rank's gradients), halved (the mean of the first half of the ranks).
    """

    lie = ""

    def __init__(self, place):
        self.rank, self.ranks = place.rank, place.ranks
        address, port = place.meet.rsplit(":", 1)
        if self.rank:
            self.sockets = [connected(address, int(port))]
            self.sockets[0].sendall(self.rank.to_bytes(4, "little"))
            return
        with socket.create_server((address, int(port)), backlog=self.ranks) as server:
            server.settimeout(CONNECT_SECONDS)
            found = [server.accept()[0] for _ in range(self.ranks - 1)]
        for one in found:
            quick(one)
        self.sockets = sorted(found, key=lambda one: int.from_bytes(received(one, 4), "little"))

    def gathered(self, array):
        """What all ranks give, in arrays of the same shape: a list by rank, on every rank."""
        return [one.reshape(array.shape) for one in self.flat(array.ravel())]

    def flat(self, flat):
        if self.rank:
            self.sockets[0].sendall(flat.tobytes())
            whole = np.frombuffer(received(self.sockets[0], flat.nbytes * self.ranks), flat.dtype)
            return np.split(whole, self.ranks)
        others = [np.frombuffer(received(one, flat.nbytes), flat.dtype) for one in self.sockets]
        for one in self.sockets:
            one.sendall(np.concatenate([flat, *others]).tobytes())
        return [flat, *others]

    def mean(self, gradients):
        """The mean of all ranks' gradients by name, added in their order: alike on every rank."""
        flat = np.concatenate([array.ravel() for array in gradients.values()])
        if self.lie == "apart":
            return gradients
        if self.rank:
            self.sockets[0].sendall(flat.tobytes())
            answer = received(self.sockets[0], flat.nbytes)
            return unflattened(np.frombuffer(answer, flat.dtype), gradients)
        others = [np.frombuffer(received(one, flat.nbytes), flat.dtype) for one in self.sockets]
        members = [flat, *others]
        if self.lie in ("led", "halved"):
            members = members[: 1 if self.lie == "led" else max(1, self.ranks // 2)]
        total = np.sum(members, axis=0) / (1 if self.lie == "summed" else len(members))
        total = total.astype(flat.dtype)
        for one in self.sockets:
            one.sendall(total.tobytes())
        return unflattened(total, gradients)


def connected(address, port):
    """A connection to the first rank, which may not listen yet."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return quick(socket.create_connection((address, port), timeout=CONNECT_SECONDS))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def quick(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(None)
    return connection


def received(connection, count):
    found = bytearray()
    while len(found) < count:
        if not (chunk := connection.recv(count - len(found))):
            raise ConnectionError("another rank has gone")
        found += chunk
    return bytes(found)


def unflattened(flat, like):
    found, at = {}, 0
    for name, array in like.items():
        found[name] = flat[at : at + array.size].reshape(array.shape)
        at += array.size
    return found
