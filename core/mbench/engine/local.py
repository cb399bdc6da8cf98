"""Processes of this machine, each in a group of its own, behind a private pipe."""

from __future__ import annotations

import errno
import os
import random
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine.channel import Channel
from mbench.engine.descriptors import OF_LOCAL, allow
from mbench.engine.jobs import look
from mbench.engine.process import WorkerProcess
from mbench.engine.single import SingleWorker
from mbench.engine.worker import Process
from mbench.engine.worker_group import WorkerGroup
from mbench.errors import MbenchError
from mbench.machine.process_end import bound, end_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.rank import RankInfo
    from mbench.engine.outcome import CaseEnded
    from mbench.engine.program import Program
    from mbench.engine.worker import Worker

__all__ = ["LocalWorker", "start"]

LOOPBACK = "127.0.0.1"
GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
IANA_DYNAMIC = 49152
LOWEST_PORT = 10240
"""Services have theirs below it, most of them."""
PORTS_TRIED = 32


def start(program: Program, places: Sequence[RankInfo], /) -> Worker:
    """The launcher "local": all places are on this machine; raises CaseEnded."""
    if places[-1].local_ranks != len(places):
        raise MbenchError("the launcher local starts processes of this machine only")
    allow(len(places), each=OF_LOCAL)
    workers: list[SingleWorker] = []
    try:
        for place in places:
            workers.append(LocalWorker(program.of(place), place))
        for worker in workers:
            worker.greet()
    except BaseException:  # Ctrl-C too must leave no process
        for worker in workers:
            worker.kill()
        raise
    return workers[0] if len(workers) == 1 else WorkerGroup(workers)


class LocalWorker(SingleWorker):
    """One process behind a pipe each way."""

    def __init__(self, program: Program, place: RankInfo) -> None:
        """Start `program`, which is still to be greeted; raises CaseEnded."""
        self.log = program.log
        self.place = place
        self.address = f"{LOOPBACK}:{free_port()}" if place.ranks > 1 else ""
        self.timeout = program.timeout_seconds
        worker_reads, requests = os.pipe()
        replies, worker_writes = os.pipe()
        try:
            self.body = WorkerProcess(program, place, reads=worker_reads, writes=worker_writes)
        except BaseException:  # Ctrl-C too must leave no pipe open
            os.close(requests)
            os.close(replies)
            raise
        finally:
            os.close(worker_reads)
            os.close(worker_writes)
        self.process = self.body.process
        self._channel = Channel(
            sends=requests, receives=replies, ends=end_of(self.body.pid), meanwhile=self.meanwhile
        )
        self.processes = (Process(pid=self.body.pid),)

    def meanwhile(self) -> None:
        bound(self.log)
        look()

    def _gone(self) -> CaseEnded:
        outcome, reason = self.body.end()
        return self._end(outcome, reason)

    def stop(self) -> None:
        self.body.stop()
        self._stopped = True

    def resume(self) -> None:
        self.body.resume()
        self._stopped = False

    def kill(self) -> None:
        self.body.kill()
        self._channel.close()

    def _leaves(self) -> bool:
        return self.body.leaves()


def free_port(address: str = LOOPBACK) -> int:
    """One that nobody listens on there now; it is not kept from others until it is used.

    The system hands out the ports of its own range to any connection: one of those may be taken
    before it is used. Raises OSError.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in (*random.sample(apart_from_given(), PORTS_TRIED), 0):
        try:
            with socket.create_server((address, port), family=family) as taken:
                found: int = taken.getsockname()[1]
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise
        return found
    raise OSError(errno.EADDRINUSE, f"no port of {address} is free")


def apart_from_given() -> range:
    """The ports below those that the system hands out by itself."""
    try:
        first = int(GIVEN_PORTS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = IANA_DYNAMIC
    return range(LOWEST_PORT, max(first, LOWEST_PORT + PORTS_TRIED))
