"""A thread pool whose jobs all end when its block does, even while they wait for a worker."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

__all__ = ["Jobs", "look", "thread_pool"]

T = TypeVar("T")

_thread = threading.local()


class Jobs:
    """Jobs that run side by side; of each name, once."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._begun: dict[str, Future[object]] = {}

    def once(self, name: str, job: Callable[[], T]) -> Future[T]:
        """The future of `job`, or of the one that had this name before."""
        if name not in self._begun:
            self._begun[name] = self._pool.submit(job)
        return cast("Future[T]", self._begun[name])


@contextmanager
def thread_pool(most: int) -> Iterator[Jobs]:
    """Runs up to `most` jobs at once, in order. When the block ends, running jobs end, too.

    Ctrl-C reaches the main thread only; a worker that a job waits for ends with the job.
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
