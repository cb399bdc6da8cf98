"""What all tests share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@pytest.fixture(autouse=True, scope="session")
def children_hear_signals() -> Iterator[None]:
    """Also where `nohup` or a script's `&` started these tests, which make some ignored.

    A child inherits that one is ignored, but no handler: so it is ignored by one that does nothing.
    """
    before = {number: signal.getsignal(number) for number in IGNORED}
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
