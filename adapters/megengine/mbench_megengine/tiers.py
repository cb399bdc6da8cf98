"""What MegEngine's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="gradients by a GradManager",
        source='MegEngine Documentation, "Quick Start in 10 Minutes"',
        compilers=("eager",),
        executes={"eager": "operations one by one"},
    ),
    TUNED: Tier(
        says="",
        source='MegEngine User Guide, "Convert Dynamic Graphs to Static Ones (Trace)"',
        compilers=("trace",),
        executes={
            "trace": "the whole step as a static graph by megengine.jit.trace, built of symbols"
        },
    ),
}
