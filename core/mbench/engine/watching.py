"""Every machine is sampled where it is: this one from here, others by their keepers, alike."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.engine.worker import pids_here
from mbench.machine.devices import accelerator
from mbench.machine.sampler import Sampler, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.engine.worker import Worker
    from mbench.machine.pace import Paces

__all__ = ["Watcher", "paces", "watching"]


class Watcher:
    """A keeper's part: it looks at its machine as the parent does, from one word to the next."""

    def __init__(self) -> None:
        self._samplers: dict[tuple[str, int], Sampler] = {}
        """By kind and number of devices: counters of energy go on from block to block."""
        self._open = ExitStack()
        self._watch: Watch | None = None

    def begin(self, pids: Sequence[int], device: str = HOST) -> None:
        """Whatever was watched before is over."""
        self.end()
        of_what = device, len(pids)
        if of_what not in self._samplers:
            self._samplers[of_what] = Sampler(gpu=accelerator(device, ranks=len(pids)))
        self._watch = self._open.enter_context(self._samplers[of_what].watching(pids))

    def end(self) -> Watch:
        """What was seen, the last look included."""
        self._open.close()
        seen, self._watch = self._watch, None
        return seen or Watch(cores=0)


@contextmanager
def watching(worker: Worker, sampler: Sampler) -> Iterator[list[Watch]]:
    """Sample all machines of a worker; at the end there is a Watch of each that was heard."""
    seen: list[Watch] = []
    if not worker.kept:
        with sampler.watching(pids_here(worker)) as watch:
            yield seen
        seen.append(watch)
        return
    begun = [(node, node.watch(keys)) for node, keys in worker.kept.items()]
    try:
        for node, number in begun:
            node.done(number, "watch its workers")
        yield seen
    finally:
        ended = [(node, node.unwatch()) for node in worker.kept]
    for node, number in ended:
        node.done(number, "tell what it saw")
        watch = node.sampled(number)
        if len(watch.samples) > 1:  # or it was lost meanwhile
            seen.append(watch)


def paces(worker: Worker, sampler: Sampler) -> Mapping[str, Paces]:
    """How fast each machine of a worker is now, by host. None may run meanwhile."""
    if not worker.kept:
        return {"": sampler.paces()}
    asked = [(node, node.time_paces()) for node in worker.kept]
    told = [(node, node.done(number, "time its paces")) for node, number in asked]
    return {node.host: done.paces for node, done in told if done.paces is not None}
