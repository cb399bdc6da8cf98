"""Makes proofs of cases side by side, or finds them remembered."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed
from mbench.engine import local
from mbench.engine.device_memory import room_on
from mbench.engine.jobs import together
from mbench.engine.memory import worker_limit_bytes
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.machine.system import hardware_threads
from mbench.verify import cache
from mbench.verify.observer import Wanted
from mbench.verify.prover import Prover
from mbench.verify.worker_pool import Idle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.engine.device_memory import DeviceMemory
    from mbench.engine.worker import Launcher
    from mbench.environments.environment import Environment
    from mbench.results.proof import ProofRecord

__all__ = ["prove", "prove_all"]


def prove_all(
    wanted: Sequence[Wanted],
    *,
    timeout: float,
    fresh: bool = False,
    quick: bool = False,
    launcher: Launcher = local.start,
    idle: Idle | None = None,
) -> None:
    """The proof of equal work for each case: remembered, or made now if `fresh`.

    Workers of operators that are done wait in `idle`, where it is given, for the next call.

    They are made side by side, as many at once as there are cores and memory for, and told of in
    their order. If `quick`, a proof ends with its first failure.
    """
    lock, waiting = Lock(), idle or Idle()
    provers: dict[int, Prover] = {}
    found: dict[int, ProofRecord | CaseEnded] = {}
    for at, one in enumerate(wanted):
        try:
            prover = Prover(
                one,
                timeout=timeout,
                fresh=fresh,
                quick=quick,
                launcher=launcher,
                lock=lock,
                idle=waiting,
            )
        except (CaseEnded, MbenchError, Malformed) as error:
            found[at] = CaseEnded.of(error)
            continue
        remembered = None if fresh else cache.recall(prover.name)
        if remembered is not None:
            found[at] = replace(remembered, remembered=True)
        else:
            provers[at] = prover
    room = room_on(wanted[0].case, launcher) if wanted else None
    workers = at_once(provers.values(), room)
    if room is not None:
        for prover in provers.values():
            prover.memory_limit_bytes = room.limit_bytes(None, workers=workers)
    with together(workers) as jobs, nullcontext() if idle else closing(waiting):
        for prover in provers.values():
            jobs.once(prover.exact_name, prover.exact_proof)
        if not quick:
            for prover in provers.values():
                jobs.once(prover.timed_name, prover.timed_findings)
                if prover.scaled:
                    jobs.once(prover.exchange_name, prover.exchange_findings)
        for at, one in enumerate(wanted):
            if at in provers:
                try:
                    proof = provers[at].proof(jobs)
                    cache.remember(provers[at].name, proof)
                    found[at] = proof.record()
                except (CaseEnded, MbenchError, Malformed) as error:
                    found[at] = CaseEnded.of(error)
            with lock:
                one.ended(found[at])


def at_once(provers: Collection[Prover], room: DeviceMemory | None) -> int:
    """How many workers can prove at once: one a core, as far as the memory goes.

    On a device, as far as its own does, and one where it lets no second process in.
    """
    if room is not None and room.for_one:
        return 1
    free = worker_limit_bytes(None) if room is None else room.limit_bytes(None, workers=1)
    most = max((prover.needed_bytes for prover in provers), default=1.0)
    return max(1, min(hardware_threads(), int(free // most)))


def prove(
    adapter: Adapter,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    report: Callable[[str], None],
    fresh: bool = False,
) -> ProofRecord:
    """One case's proof; raises CaseEnded."""
    found: list[ProofRecord | CaseEnded] = []
    one = Wanted(
        adapter=adapter, environment=environment, case=case, log=log, report=report,
        ended=found.append,
    )  # fmt: skip
    prove_all([one], timeout=timeout, fresh=fresh)
    if isinstance(found[0], CaseEnded):
        raise found[0]
    return found[0]
