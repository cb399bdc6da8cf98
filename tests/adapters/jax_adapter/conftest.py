"""What JAX's tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def quickly_compiled(monkeypatch):
    """Switches off most of XLA's optimizations, here and in ranks: they take half of the time."""
    import jax  # imported here, since tests are left out where JAX is missing

    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
