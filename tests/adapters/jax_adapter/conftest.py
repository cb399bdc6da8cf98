"""What JAX's tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def quickly_compiled(monkeypatch):
    """Here and in ranks without most of XLA's optimizations, which take half of the time."""
    import jax  # not where its tests are left out

    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
