"""What the documentation of MindSpore shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="PyNative mode, operations one by one",
        source='MindSpore Tutorials, "Quick Start"',
        compilers=("pynative",),
    ),
    TUNED: Tier(
        says="the whole step as one graph by mindspore.jit",
        source='MindSpore Tutorials, "Accelerating with Static Graphs"',
        compilers=("graph",),
    ),
}
