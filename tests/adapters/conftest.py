"""What the tests of all adapters share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="session")
def lies() -> ModuleType:
    """lies.py beside this file, by its path: tests are no package."""
    spec = importlib.util.spec_from_file_location("lies", Path(__file__).with_name("lies.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
