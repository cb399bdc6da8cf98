"""What TensorFlow 1's documentation shows first, and what its guides to performance advise."""

from __future__ import annotations

from mbench.contract.tier import ADVISED, FIRST, Tier

__all__ = ["TIERS"]

TIERS = {
    FIRST: Tier(
        says="a graph that a tf.Session runs, step by step",
        source='TensorFlow 1.15 Guide, "Graphs and Sessions"',
        compilers=("graph",),
    ),
    ADVISED: Tier(
        says="a graph that a callable of the tf.Session runs, fused batch norm",
        source='TensorFlow 1.15 API, "tf.Session.make_callable", and '
        'TensorFlow 1 Guide, "Performance Guide", "Use fused Ops"',
        compilers=("graph",),
        settings={"run": "callable"},
    ),
}
