"""Records when mbench, a worker or a machine was away, and reports it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine.watching import take_absences
from mbench.machine.absence import brief
from mbench.measure.activity import Notice
from mbench.results import events
from mbench.results.facts import said_of_absences

if TYPE_CHECKING:
    from mbench.measure.activity import Listener
    from mbench.plugins.launcher import Worker
    from mbench.results.store import RunWriter

__all__ = ["note_absences"]


def note_absences(
    store: RunWriter,
    listener: Listener,
    worker: Worker | None = None,
    block: events.OfBlock | None = None,
    *,
    stops: int = 0,
) -> None:
    """Record all absences not noted yet, including those of `worker`'s nodes. With `block`, they
    fell into that block, which will be measured again. `stops` is the number of stops that the
    worker counted in the block: all that is known if each was too short to be seen.
    """
    found = take_absences(worker)
    if stops and worker and not found:
        found = [brief(worker.processes[0].pid, times=stops, host=worker.processes[0].host)]
    for one in found:
        at = (block.case, block.process, block.round) if block else (None, None, None)
        case, process, round_number = at
        event = events.Absence(**vars(one), case=case, process=process, round=round_number)
        store.append(event)
        listener.hear(Notice(f"warn  {said_of_absences([event])}"))
