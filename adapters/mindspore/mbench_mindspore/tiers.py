"""What MindSpore's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="",
        source='MindSpore Tutorials, "Quick Start"',
        compilers=("pynative",),
        executes={"pynative": "PyNative mode, operations one by one"},
    ),
    TUNED: Tier(
        says="",
        source='MindSpore Tutorials, "Accelerating with Static Graphs"',
        compilers=("graph",),
        executes={"graph": "the whole step as one graph by mindspore.jit"},
    ),
}
