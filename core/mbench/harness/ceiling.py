"""Finds what the machine can do at most, by a framework's own matrix product and memory pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.precision import PRECISIONS
from mbench.engine.outcome import CaseEnded
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.worker import Worker
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Entry
    from mbench.results.store import RunWriter

__all__ = ["Ceilings"]

MATRICES = (1024, 2048, 4096, 8192, 16384)
VECTORS = {"cpu": (2**26,)}
LARGE_VECTORS = (2**26, 2**28)
"""Sizes are grown until one step takes LONGEST_SECONDS. Vectors of 128 MiB and more fit into few
caches of processors; the newest GPUs have as much."""
LONGEST_SECONDS = 0.25
BLOCK_SECONDS = 0.05
BLOCKS = 5
SUSTAINED_SECONDS = 1.0
SUSTAINED_BLOCK_SECONDS = 0.25
"""A GPU's first moments of work are faster than what its power limit lets it go on with."""


def amount(kind: str, size: int, precision: str) -> int:
    """FLOPs of one matrix product, or bytes of one memory pass."""
    if kind in ("matmul", "sustained"):
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
        device = entry.case.device
        found = self.grown(entry, worker, "matmul", MATRICES)
        if device != "cpu" and found:
            fastest = max(found, key=lambda one: one.amount * one.steps / min(one.nanoseconds))
            self.probe(entry, worker, "sustained", fastest.size)
        self.grown(entry, worker, "accumulate", VECTORS.get(device, LARGE_VECTORS))

    def grown(
        self, entry: Entry, worker: Worker, kind: str, sizes: Sequence[int]
    ) -> list[events.Ceiling]:
        """All sizes up to the first that takes long or cannot be done."""
        found = []
        for size in sizes:
            one = self.probe(entry, worker, kind, size)
            if one.reason:
                break
            found.append(one)
            if min(one.nanoseconds) > one.steps * LONGEST_SECONDS * 1e9:
                break
        return found

    def probe(self, entry: Entry, worker: Worker, kind: str, size: int) -> events.Ceiling:
        """One size, timed and written down."""
        found = events.Ceiling(case=entry.number, probe=kind, size=size, reason="not timed")
        try:
            steps, nanoseconds = self.time(worker, kind, size, entry.case.precision)
        except CaseEnded as end:
            found = replace(found, reason=str(end))
        else:
            work = amount(kind, size, entry.case.precision)
            found = replace(found, amount=work, steps=steps, nanoseconds=nanoseconds, reason="")
        self.store.append(found)
        return found

    def time(self, worker: Worker, kind: str, size: int, precision: str) -> tuple[int, list[int]]:
        """Steps of a block, and the nanoseconds of each block; raises CaseEnded."""
        sustained = kind == "sustained"
        made = "matmul" if sustained else kind
        worker.ask(wire.Probe(kind=made, size=size, precision=precision), wire.Probed)
        worker.run(1)  # tuning and page faults
        seconds = worker.run(1).nanoseconds[0] / 1e9
        if sustained:
            worker.run(max(1, round(SUSTAINED_SECONDS / seconds)))
        block_seconds = SUSTAINED_BLOCK_SECONDS if sustained else BLOCK_SECONDS
        steps = max(1, round(block_seconds / seconds))
        found = []
        for _ in range(BLOCKS):
            with self.progress.timing():
                found += worker.run(steps).nanoseconds
        return steps, found


def key(entry: Entry) -> tuple[str, str, str, int]:
    case = entry.case
    return entry.spec.text, case.precision, case.device, case.threads
