"""A launcher over the keepers of several nodes, whatever engine starts those."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING

from mbench.engine.keepers import Keepers
from mbench.engine.ranks import Ranks, named
from mbench.engine.remote import RemoteWorker
from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.place import Place
    from mbench.engine.command import Engine
    from mbench.engine.program import Program
    from mbench.engine.single import SingleWorker
    from mbench.engine.worker import Worker

__all__ = ["Cluster"]


class Cluster:
    """Starts keepers once they are needed; they serve all workers until it is closed."""

    def __init__(self, engine: Engine, nodes: int) -> None:
        self.keepers = Keepers(engine, nodes)
        atexit.register(self.close)

    def __call__(self, program: Program, places: Sequence[Place], /) -> Worker:
        """A process at each place; raises CaseEnded or MbenchError."""
        needed = 1 + places[-1].rank // places[-1].local_ranks
        if needed > self.keepers.count:
            raise MbenchError(f"{needed} nodes are needed, and there are {self.keepers.count}")
        nodes = self.keepers.nodes()
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
        return Ranks(workers) if len(workers) > 1 else workers[0]

    def close(self) -> None:
        """Send the keepers away. May be called more than once."""
        self.keepers.close()
