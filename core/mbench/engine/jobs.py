"""Jobs done side by side, in threads that end together: who waits for a worker looks here."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

__all__ = ["Jobs", "look", "together"]

T = TypeVar("T")

_thread = threading.local()


class Jobs:
    """What is done side by side; of one name, once."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._begun: dict[str, Future[Any]] = {}

    def once(self, name: str, job: Callable[[], T]) -> Future[T]:
        """What comes of `job`, or of the one that had this name before."""
        if name not in self._begun:
            self._begun[name] = self._pool.submit(job)
        return self._begun[name]


@contextmanager
def together(most: int) -> Iterator[Jobs]:
    """Does jobs, so many at once, the first ones first. When the block ends, so do those that run.

    Ctrl-C reaches the main thread alone; a worker that a job waits for ends with the job.
    """
    over = threading.Event()
    pool = ThreadPoolExecutor(most, initializer=_enter, initargs=(over,))
    try:
        yield Jobs(pool)
    finally:
        over.set()
        pool.shutdown(cancel_futures=True)


def look() -> None:
    """Raises KeyboardInterrupt in a job whose block has ended."""
    if _thread.__dict__.get("over", _NEVER).is_set():
        raise KeyboardInterrupt


_NEVER = threading.Event()


def _enter(over: threading.Event) -> None:
    _thread.over = over
