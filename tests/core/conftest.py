"""Nothing that a test does may reach the user's caches, results or terminal settings."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from mbench.plugins import Plugins

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENVIRONMENTS", "PROOFS", "RESULTS"):
        monkeypatch.setenv(f"MBENCH_{name}", str(tmp_path / name.lower()))
    for name in ("MBENCH_DISABLE_EXTERNAL_PLUGINS", "FLAKY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def plugins() -> Plugins:
    """mbench's own and the tiny framework's, whatever else is installed here."""
    entries = [
        EntryPoint("mbench_builtin", "mbench.builtin", "mbench"),
        EntryPoint("mbench_tiny", "mbench_tiny", "mbench"),
    ]
    return Plugins(external=True, entries=entries)
