"""Samples each machine on the machine itself: this one from here, others through their agents."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from mbench.contract.device import HOST
from mbench.engine.outcome import CaseEnded
from mbench.engine.worker import nodes_of
from mbench.machine.absence import ATTENDANCE
from mbench.machine.devices import accelerator
from mbench.machine.sampler import Sampler, Watch
from mbench.plugins.launcher import pids_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mbench.machine.absence import Absence
    from mbench.machine.pace import Paces
    from mbench.plugins.launcher import Worker

__all__ = ["Watcher", "absences", "paces", "take_absences", "undisturbed", "watching"]

T = TypeVar("T")
TRIES = 10
"""How often to try what absences disturb. If all attempts are disturbed, it is not by chance."""


class Watcher:
    """An agent's side: samples its machine as the parent does its own, from `begin` to `end`."""

    def __init__(self) -> None:
        self._samplers: dict[tuple[str, int], Sampler] = {}
        """By kind and number of devices; kept because energy counters continue between blocks."""
        self._open = ExitStack()
        self._watch: Watch | None = None

    def begin(self, pids: Sequence[int], device: str = HOST) -> None:
        """Begin to sample; this replaces what was sampled before."""
        self.end()
        of_what = device, len(pids)
        if of_what not in self._samplers:
            self._samplers[of_what] = Sampler(gpu=accelerator(device, ranks=len(pids)))
        self._watch = self._open.enter_context(self._samplers[of_what].watching(pids))

    def end(self) -> Watch:
        """Stop sampling; returns the samples, including a last one taken now."""
        self._open.close()
        seen, self._watch = self._watch, None
        return seen or Watch(cores=0)


@contextmanager
def watching(worker: Worker, sampler: Sampler) -> Iterator[list[Watch]]:
    """Sample all machines of a worker; at the end the list has a Watch for each that answered."""
    seen: list[Watch] = []
    if not nodes_of(worker):
        with sampler.watching(pids_here(worker)) as watch:
            yield seen
        seen.append(watch)
        return
    begun = [(node, node.watch(keys)) for node, keys in nodes_of(worker).items()]
    try:
        for node, number in begun:
            node.done(number, "watch its workers")
        yield seen
    finally:
        ended = [(node, node.unwatch()) for node in nodes_of(worker)]
    for node, number in ended:
        node.done(number, "return its samples")
        watch = node.sampled(number)
        if len(watch.samples) > 1:  # or it was lost meanwhile
            seen.append(watch)


def paces(worker: Worker, sampler: Sampler) -> Mapping[str, Paces]:
    """How fast each machine of a worker is now, by host. No worker may be running meanwhile."""
    if not nodes_of(worker):
        return {"": sampler.paces()}
    asked = [(node, node.time_paces()) for node in nodes_of(worker)]
    answers = [(node, node.done(number, "time its paces")) for node, number in asked]
    return {node.host: done.paces for node, done in answers if done.paces is not None}


def absences(worker: Worker) -> list[Absence]:
    """All absences so far in which a worker, or this process, may have been unable to run."""
    pids = {0, *pids_here(worker)}
    return [
        *(one for one in ATTENDANCE.absences() if one.pid in pids),
        *(one for node in nodes_of(worker) for one in node.absences),
    ]


def take_absences(worker: Worker | None = None) -> list[Absence]:
    """Absences of all processes here, and of a worker's nodes, that were not taken before."""
    nodes = nodes_of(worker) if worker else {}
    return [*ATTENDANCE.take(), *(one for node in nodes for one in node.take_absences())]


def undisturbed(
    worker: Worker,
    attempt: Callable[[], T],
    *,
    again: Callable[[T], None] = lambda _: None,
    held: Callable[[T], bool] = lambda _: False,
) -> T:
    """The result of `attempt` once no absence overlapped it and `held` is false for its result.
    Until then, `again` gets the result and `attempt` is repeated. Raises CaseEnded after TRIES.
    """
    for _ in range(TRIES):
        known = len(absences(worker))
        found = attempt()
        if len(absences(worker)) == known and not held(found):
            return found
        again(found)
    raise CaseEnded(
        "failed",
        f"mbench or its worker was stopped during each of {TRIES} attempts to time a block: does "
        "another program limit its processor time?",
        log=worker.log,
    )
