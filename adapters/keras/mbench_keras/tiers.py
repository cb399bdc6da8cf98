"""What Keras' documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["tiers"]


def tiers(plain: str, compiled: str) -> dict[str, Tier]:
    """By the compilers for which jit_compile="auto" and jit_compile=True stand on a backend."""
    return {
        DEFAULT: Tier(
            says='the step of Model.fit, with jit_compile="auto"',
            source='Keras Developer guides, "Training & evaluation with the built-in methods"',
            compilers=(plain,),
        ),
        TUNED: Tier(
            says="the step of Model.fit, with jit_compile=True",
            source='Keras API, "Model training APIs", on jit_compile of Model.compile',
            compilers=(compiled,),
        ),
    }
