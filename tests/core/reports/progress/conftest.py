"""A clock that tests move."""

from __future__ import annotations

import pytest


class Clock:
    """Stands still until a test moves it."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()
