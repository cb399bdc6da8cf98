"""What all ways to show progress share: a state that follows events, and a thread for redrawing."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.measure.activity import Decision, LogEnd, Notice, PhaseBegan, Stored
from mbench.reports.progress.state import ProgressState
from mbench.results import events
from mbench.results.proof import PROVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from mbench.measure.activity import Activity

__all__ = ["ProgressReporter", "Ticker", "sentence"]


class ProgressReporter(ABC):
    """Follows a run; decisions and stored events are reported if it is `verbose`."""

    def __init__(
        self, *, verbose: bool, every_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.state = ProgressState(clock)
        self.verbose = verbose
        self.labels: dict[int, str] = {}
        """Labels of cases, by the case's number."""
        self.ticker = Ticker(self.tick, every_seconds=every_seconds)

    def hear(self, activity: Activity, /) -> None:
        match activity:
            case Notice(text):
                self.say(text)
            case LogEnd(text):
                for line in text.splitlines():
                    self.say(line)
            case Decision(text):
                if self.verbose:
                    self.say(text)
            case Stored(event):
                self.stored(event)
            case PhaseBegan(label, text) if self.state.row(label).phase == text:
                pass
            case _:
                with self.ticker.lock:
                    self.state.hear(activity)
                self.show(activity)

    def stored(self, event: events.Event) -> None:
        if isinstance(event, events.Case):
            self.labels[event.case] = event.label
        if self.verbose and (text := sentence(event)):
            if isinstance(event, events.OfCase):
                text = f"{self.labels[event.case]}: {text}"
            self.say(text)

    @abstractmethod
    def show(self, activity: Activity) -> None:
        """Show what changed in the state."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Print a line that stays."""

    @abstractmethod
    def tick(self) -> None:
        """Called now and then, but never while a block is timed."""

    def quiet(self) -> AbstractContextManager[None]:
        return self.ticker.holding()

    def close(self) -> None:
        self.ticker.stop()


class Ticker:
    """A thread that calls `tick` every `every_seconds`, and a lock that stops it.

    While the lock is held the thread waits for it, which takes no processor time. A call that fell
    due meanwhile is made right after, before the next block can begin.
    """

    def __init__(self, tick: Callable[[], None], *, every_seconds: float) -> None:
        self.tick = tick
        self.every_seconds = every_seconds
        self.lock = threading.RLock()
        self.held = False
        self._over = threading.Event()
        self._last = time.monotonic()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread: `tick` is not called any more. May be called again."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def now(self) -> None:
        """Call `tick` at once, unless the lock is held."""
        with self.lock:
            if not self.held:
                self._last = time.monotonic()
                self.tick()

    def if_due(self) -> None:
        """Call `tick` if the last call was long enough ago."""
        if time.monotonic() - self._last >= self.every_seconds:
            self.now()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A context in which `tick` is not called."""
        with self.lock:
            self.held = True
            try:
                yield
            finally:
                self.held = False
        if self._thread is not None:
            self.if_due()

    def _run(self) -> None:
        while not self._over.wait(self.every_seconds):
            with self.lock:
                if not self._over.is_set():
                    self.if_due()


def sentence(event: events.Event) -> str:
    """What an event decided, or where its log is; empty for other events."""
    match event:
        case events.Environment():
            whose = "built by mbench" if event.managed else "the user's own"
            return f"runs in {event.python} (Python {event.python_version}, {whose})"
        case events.EqualWork(proven=False):
            return f"not proven equal: {event.failures[0]}"
        case events.EqualWork():
            said = "proven equal" if event.grade == PROVEN else f"equal work {event.grade}"
            return said + ("" if event.worst is None else f", worst error {event.worst:.0e}")
        case events.Search():
            tried = ", ".join(str(trial.value) for trial in event.tried)
            return f"{event.label}: {event.what.replace('_', ' ')} {event.chosen} (tried: {tried})"
        case events.Calibration():
            return f"scatter known from the calibration of {event.started}, run {event.run}"
        case events.Process():
            steps = 1 + sum(count for count, _ in event.warmup_blocks)
            return (
                f"process {event.process + 1} is warm after {counted(steps, 'step')} "
                f"({event.warmup_reason}), prepared in {event.prepare_seconds:.1f} s, "
                f"pid {event.pid}"
            )
        case events.Outcome():
            return f"its log is {event.log}" if event.log else ""
        case events.ComparisonEnd():
            return f"measurement ends: {event.reason}"
    return ""
