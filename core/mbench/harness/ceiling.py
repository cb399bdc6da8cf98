"""Finds what the machine can do at most, by a framework's own matrix product and memory pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.precision import PRECISIONS
from mbench.engine.outcome import CaseEnded
from mbench.results import events

if TYPE_CHECKING:
    from mbench.engine.worker import Worker
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Entry
    from mbench.results.store import RunWriter

__all__ = ["Ceilings"]

SIZES = {"matmul": (1024, 2048, 4096, 8192, 16384), "accumulate": (2**26,)}
"""Grown until one step takes LONGEST_SECONDS. Vectors of 128 MiB and more fit into few caches."""
LONGEST_SECONDS = 0.25
BLOCK_SECONDS = 0.05
BLOCKS = 5


def amount(kind: str, size: int, precision: str) -> int:
    """FLOPs of one matrix product, or bytes of one memory pass."""
    if kind == "matmul":
        return 2 * size**3
    return 3 * size * PRECISIONS[precision].product_bytes


class Ceilings:
    """Each ceiling is found once in a run: per framework, precision, device and threads.

    The worker that shows it has no case to measure any more. So the ceiling costs no start of its
    own, and nothing that is timed shares a process with it.
    """

    def __init__(self, store: RunWriter, progress: Progress) -> None:
        self.store = store
        self.progress = progress
        self._known: set[tuple[str, str, str, int]] = set()

    def knows(self, entry: Entry) -> bool:
        return key(entry) in self._known

    def find(self, entry: Entry, worker: Worker) -> None:
        """Time all probes; one that cannot be made says why, and ends nothing."""
        self._known.add(key(entry))
        for kind, sizes in SIZES.items():
            for size in sizes:
                try:
                    steps, nanoseconds = self.time(worker, kind, size, entry.case.precision)
                except CaseEnded as end:
                    self.store.append(
                        events.Ceiling(case=entry.number, probe=kind, size=size, reason=str(end))
                    )
                    break
                self.store.append(
                    events.Ceiling(
                        case=entry.number,
                        probe=kind,
                        size=size,
                        amount=amount(kind, size, entry.case.precision),
                        steps=steps,
                        nanoseconds=nanoseconds,
                    )
                )
                if min(nanoseconds) > steps * LONGEST_SECONDS * 1e9:
                    break

    def time(self, worker: Worker, kind: str, size: int, precision: str) -> tuple[int, list[int]]:
        """Steps of a block, and the nanoseconds of each block; raises CaseEnded."""
        worker.ask(wire.Probe(kind=kind, size=size, precision=precision), wire.Probed)
        worker.run(1)  # tuning and page faults
        steps = max(1, round(BLOCK_SECONDS * 1e9 / worker.run(1).nanoseconds[0]))
        found = []
        for _ in range(BLOCKS):
            with self.progress.timing():
                found += worker.run(steps).nanoseconds
        return steps, found


def key(entry: Entry) -> tuple[str, str, str, int]:
    case = entry.case
    return entry.spec.text, case.precision, case.device, case.threads
