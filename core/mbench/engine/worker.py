"""What workers on this machine and on others have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.case import ProofWork
from mbench.engine.memory import resident_bytes, worker_limit_bytes
from mbench.plugins.launcher import Worker, pids_here
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.engine.node import Node

__all__ = ["WorkerBase", "nodes_of"]


class WorkerBase(Worker):
    """Prepares cases within the memory of the worker's machines."""

    @property
    def nodes(self) -> Mapping[Node, Sequence[int]]:
        """The keys of its processes on other machines, by node."""
        return {}

    def prepare(
        self, case: Case, *, load: bool = True, work: ProofWork | None = None
    ) -> wire.Prepared:
        """Build a case; see wire.Prepare.

        The optimizer is always given, so that timed cases are requested just like proofs. On the
        CPU the worker may use `memory_limit_bytes`, or nearly all free memory if that is less: it
        fails instead of making the machine swap.
        """
        if work is None:
            own = find_workload(case.workload, case.model).optimizer
            work = ProofWork(optimizer=own)
        limit = self.allowed_bytes() if case.device == "cpu" else None
        message = wire.Prepare(case=case, work=work, load=load, memory_limit_bytes=limit)
        return self.ask(message, wire.Prepared)

    def allowed_bytes(self) -> int:
        """How much of its machine's memory each process may hold now."""
        here = pids_here(self)
        held = sum(map(resident_bytes, here))
        return worker_limit_bytes(self.memory_limit_bytes, held=held) // max(1, len(here))


def nodes_of(worker: Worker) -> Mapping[Node, Sequence[int]]:
    """The keys of a worker's processes on other machines, by node; empty if all are here."""
    return worker.nodes if isinstance(worker, WorkerBase) else {}
