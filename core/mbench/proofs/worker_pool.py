"""Workers that have done one proof and wait for the next: of what is small, the start is most."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from mbench.engine.jobs import look, together

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mbench.contract.adapter import FrameworkInfo
    from mbench.plugins.launcher import Worker

    Launched: TypeAlias = tuple[Worker, FrameworkInfo]

__all__ = ["Idle"]

MOST = 64
"""Workers that are started in a life of this."""
LOOK_SECONDS = 0.2


class Idle:
    """A worker serves one proof at a time; those that ask for another key get another.

    A worker ends with the thread that started it. These outlive the threads of proofs: threads of
    their own start them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Hashable, list[Any]] = {}
        self._stack = ExitStack()
        self._jobs = self._stack.enter_context(together(MOST))
        self._numbers = count()

    @contextmanager
    def worker(self, key: Hashable, launch: Callable[[], Launched]) -> Iterator[Launched]:
        """One that waits, or a new one; one whose proof is cut off is not used again."""
        with self._lock:
            waiting = self._idle.get(key)
            launched = waiting.pop() if waiting else None
        if launched is None:
            starting = self._jobs.once(f"{next(self._numbers)}", launch)
            while wait([starting], LOOK_SECONDS).not_done:
                look()
            launched = starting.result()
        try:
            yield launched
        except BaseException:
            launched[0].kill()
            raise
        with self._lock:
            self._idle.setdefault(key, []).append(launched)

    def close(self) -> None:
        """End all that wait."""
        with self._lock:
            for waiting in self._idle.values():
                for worker, _ in waiting:
                    worker.close()
            self._idle.clear()
        self._stack.close()
