"""A thread pool whose jobs all end when its block does, even if they are waiting for a worker."""

from __future__ import annotations

import sys
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
    """Jobs that run in parallel; each name runs once."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._begun: dict[str, Future[object]] = {}

    def once(self, name: str, job: Callable[[], T]) -> Future[T]:
        """The future of `job`, or of the earlier job with this name."""
        look()  # after Ctrl-C in the main thread, Python starts no more threads
        if name not in self._begun:
            self._begun[name] = self._pool.submit(job)
        return cast("Future[T]", self._begun[name])


@contextmanager
def thread_pool(most: int) -> Iterator[Jobs]:
    """Runs up to `most` jobs at once, in order. When the block ends, running jobs end, too.

    Ctrl-C reaches the main thread only; a worker that a job waits for ends with the job.
    """
    look()
    over = threading.Event()
    pool = ThreadPoolExecutor(most, initializer=_enter, initargs=(over, _serves_main()))
    try:
        yield Jobs(pool)
    finally:
        over.set()
        pool.shutdown(cancel_futures=True)


def look() -> None:
    """Raises KeyboardInterrupt in a job whose block has ended. Where a thread other than the main
    one measures, also raises it after Ctrl-C, which only the main thread receives.
    """
    if _thread.__dict__.get("over", _NEVER).is_set() or (not _serves_main() and _main_gives_up()):
        raise KeyboardInterrupt


def _serves_main() -> bool:
    """Whether this is the main thread or one of its jobs."""
    here = threading.current_thread() is threading.main_thread()
    return bool(_thread.__dict__.get("serves_main", here))


def _main_gives_up() -> bool:
    """Whether Ctrl-C has ended the main thread, or the main thread is handling it now, for example
    while it leaves the block of a thread pool.
    """
    main = threading.main_thread()
    if not main.is_alive():
        return getattr(sys, "last_type", None) is KeyboardInterrupt
    handled: object = sys._current_exceptions().get(main.ident or 0)
    if isinstance(handled, tuple):  # until Python 3.11
        handled = handled[1]
    return isinstance(handled, KeyboardInterrupt)


_NEVER = threading.Event()


def _enter(over: threading.Event, serves_main: bool) -> None:
    _thread.over, _thread.serves_main = over, serves_main
