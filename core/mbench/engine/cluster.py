"""A launcher over the keepers of several nodes, whatever engine starts those."""

from __future__ import annotations

import atexit
import time
from typing import TYPE_CHECKING

from mbench.engine.agents import Keepers, passed
from mbench.engine.command import Command
from mbench.engine.descriptors import OF_REMOTE, allow
from mbench.engine.jobs import look
from mbench.engine.remote import RemoteWorker
from mbench.engine.worker_group import WorkerGroup, named
from mbench.errors import MbenchError, reason_of
from mbench.machine.process_end import last_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.rank import RankInfo
    from mbench.engine.command import Engine
    from mbench.engine.program import Program
    from mbench.engine.single import SingleWorker
    from mbench.engine.worker import Worker
    from mbench.machine.records import Machine

__all__ = ["Cluster"]

TICK_SECONDS = 0.2


class Cluster:
    """Starts keepers once they are needed; they serve all workers until it is closed."""

    def __init__(self, engine: Engine, nodes: int) -> None:
        self.keepers = Keepers(engine, nodes)
        self.name = engine.name
        atexit.register(self.close)

    def __call__(self, program: Program, places: Sequence[RankInfo], /) -> Worker:
        """A process at each place; raises CaseEnded or MbenchError."""
        needed = 1 + places[-1].rank // places[-1].local_ranks
        if needed > self.keepers.count:
            raise MbenchError(f"{needed} nodes are needed, and there are {self.keepers.count}")
        nodes = self.keepers.nodes()
        allow(len(places), each=OF_REMOTE)
        workers: list[SingleWorker] = []
        try:
            for place in places:
                node = nodes[place.rank // place.local_ranks]
                workers.append(RemoteWorker(program.of(place), place, node, self.keepers))
            for worker in workers:
                with named(worker):
                    worker.greet()
        except BaseException:  # Ctrl-C too must leave no process
            for worker in workers:
                worker.kill()
            raise
        return WorkerGroup(workers) if len(workers) > 1 else workers[0]

    def machines(self) -> Mapping[str, Machine]:
        """What the keepers tell of their nodes, by host; raises MbenchError."""
        return {node.host: node.here.machine for node in self.keepers.nodes()}

    def do(self, words: Sequence[str]) -> str:
        """Run a command of ours once on each node, without keepers, and wait for it; gives what it
        said. Raises MbenchError where it fails on one.
        """
        engine = self.keepers.engine
        try:
            job = Command(engine.name, engine.command(self.keepers.count, words, passed({})), {})
        except OSError as error:
            raise MbenchError(f"{engine.name} does not start: {reason_of(error)}") from None
        try:
            while not (ended := job.ended()):
                look()
                time.sleep(TICK_SECONDS)
            if job.process.returncode:
                raise MbenchError(ended)
            return last_words(job.log)
        finally:
            job.close()

    def close(self) -> None:
        """Send the keepers away. May be called more than once."""
        self.keepers.close()
