"""What JAX's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="",
        source='JAX, "Quickstart", and Optax, "Getting started"',
        compilers=("jit",),
        executes={"jit": "the step under jax.jit"},
    ),
    TUNED: Tier(
        says="parameters and optimizer state donated",
        source='JAX, "Buffer donation"',
        compilers=("jit",),
        executes={"jit": "the step under jax.jit"},
        settings={"buffers": "donated"},
    ),
}
