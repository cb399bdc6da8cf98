"""Calls something now and then, but never while a block is timed."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Ticker"]


class Ticker:
    """A thread that calls `tick` every so many seconds, and a lock that it cannot pass.

    While the lock is held the thread waits for it, which takes no processor time. What fell due
    meanwhile is done right after, before the next block can begin.
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
        """May be called again; afterwards nothing is called any more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def now(self) -> None:
        """Call it at once, unless the lock is held."""
        with self.lock:
            if not self.held:
                self._last = time.monotonic()
                self.tick()

    def if_due(self) -> None:
        """Call it if that was not done for a while."""
        if time.monotonic() - self._last >= self.every_seconds:
            self.now()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Nothing is called in here."""
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
