"""What else is running where a run measures: reported beforehand, and recorded in the run."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.machine.doctor.examine import glance
from mbench.machine.neighbours import neighbours
from mbench.measure.absences import note_absences
from mbench.measure.activity import Notice
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Collection

    from mbench.machine.neighbours import Neighbour
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.results.store import RunWriter

__all__ = ["Surroundings"]

MOST_WARNINGS = 2


class Surroundings:
    """The surroundings of one run. It looks only while no worker is timed."""

    def __init__(self, checked: Checked, store: RunWriter, listener: Listener) -> None:
        self.checked, self.store, self.listener = checked, store, listener
        self.seen: dict[int, Neighbour] = {}
        self.here = "" in machines(checked.launcher)
        """Whether workers run on this machine."""

    def before(self) -> None:
        """Report what will disturb the run, and what to do about it."""
        if not self.here:
            return
        self.look()
        on_host = self.checked.device == HOST
        found = glance(
            needed=max(
                case.parsed_scale.devices_per_node * (case.threads if on_host else 1)
                for case in self.checked.cases
            )
        )
        if found:
            self.store.append(events.Surroundings(checks=found))
        for check in found[:MOST_WARNINGS]:
            self.warn(f"{check.name}: {check.found}: {check.hint}")

    def look(self) -> None:
        """Record every other mbench process not seen before, and when this one was away."""
        note_absences(self.store, self.listener)
        new = [one for one in (neighbours() if self.here else ()) if one.pid not in self.seen]
        for other in new:
            self.seen[other.pid] = other
            self.store.append(events.OtherMbench(**vars(other)))
        if new:
            self.warn(f"{called(new)} is also measuring on this machine, which disturbs both: let "
                      "one of them finish first")  # fmt: skip

    def after(self) -> None:
        """Report which other mbench processes measured on this machine meanwhile."""
        self.look()
        if self.seen:
            self.warn(f"{called(self.seen.values())} measured at the same time: measure again, one "
                      "after the other")  # fmt: skip

    def warn(self, text: str) -> None:
        self.listener.hear(Notice(f"warn  {text}"))


def called(others: Collection[Neighbour]) -> str:
    """Names the first of `others` by process id and local start time, and counts the rest."""
    first = next(iter(others))
    since = f"{datetime.fromisoformat(first.since).astimezone():%H:%M:%S}"
    more = f", and {len(others) - 1} more" if len(others) > 1 else ""
    return f"another mbench (process {first.pid}, since {since}{more})"
