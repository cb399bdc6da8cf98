"""What all tests share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="session")
def children_hear_ctrl_c() -> Iterator[None]:
    """Also where `nohup` or a script's `&` started these tests, which make SIGINT ignored.

    A child inherits that it is ignored, but no handler: so it is ignored by one that does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, frame: None)
    yield
    signal.signal(signal.SIGINT, before)
