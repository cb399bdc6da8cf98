"""Surroundings of their own for commands, in which no process may be left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from surroundings import Surroundings, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Surroundings]:
    """Surroundings in which no process is left when the test has ended."""
    surroundings = Surroundings(tmp_path)
    yield surroundings
    eventually(lambda: surroundings.living() == [], "gone")
