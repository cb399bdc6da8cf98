"""Says in a sentence what an event decided and where its log is, for whoever wants to know."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.results import events
from mbench.results.proof import PROVEN

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EventLogger"]


class EventLogger:
    """Hands a sentence to `say` for each event that decides something."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.labels: dict[int, str] = {}
        """Of cases."""

    def event(self, event: events.Event) -> None:
        if isinstance(event, events.Case):
            self.labels[event.case] = event.label
        text = self.sentence(event)
        if text:
            self.say(f"{self.labels[event.case]}: {text}" if isinstance(event, events.OfCase)
                     else text)  # fmt: skip

    @singledispatchmethod
    def sentence(self, _: events.Event) -> str:
        """Empty for what nobody has to know."""
        return ""

    @sentence.register
    def _(self, event: events.Environment) -> str:
        whose = "built by mbench" if event.managed else "the user's own"
        return f"runs in {event.python} (Python {event.python_version}, {whose})"

    @sentence.register
    def _(self, event: events.EqualWork) -> str:
        if not event.proven:
            return f"not proven equal: {event.failures[0]}"
        said = "proven equal" if event.grade == PROVEN else f"equal work {event.grade}"
        return said + ("" if event.worst is None else f", worst error {event.worst:.0e}")

    @sentence.register
    def _(self, event: events.Search) -> str:
        tried = ", ".join(str(trial.value) for trial in event.tried)
        return f"{event.label}: {event.what.replace('_', ' ')} {event.chosen}, of {tried}"

    @sentence.register
    def _(self, event: events.Calibration) -> str:
        return f"scatter known from the calibration of {event.started}, run {event.run}"

    @sentence.register
    def _(self, event: events.Process) -> str:
        steps = 1 + sum(count for count, _ in event.warmup_blocks)
        return (
            f"process {event.process + 1} is warm after {counted(steps, 'step')} "
            f"({event.warmup_reason}), prepared in {event.prepare_seconds:.1f} s, pid {event.pid}"
        )

    @sentence.register
    def _(self, event: events.Outcome) -> str:
        return f"its log is {event.log}" if event.log else ""

    @sentence.register
    def _(self, event: events.ComparisonEnd) -> str:
        return f"no more is measured: {event.reason}"
