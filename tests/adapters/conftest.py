"""What the tests of all adapters share."""

from __future__ import annotations

import importlib

import pytest

pytest.register_assert_rewrite("alike", "families", "lies", "ranks")


@pytest.fixture(scope="module")
def runtime(request):
    """The CPU runtime of the adapter in whose folder the tests are."""
    folder = request.path.parent.name.removesuffix("_adapter")
    adapter = importlib.import_module(f"mbench_{folder}.runtime")
    return adapter.Runtime(device="cpu", threads=2)
