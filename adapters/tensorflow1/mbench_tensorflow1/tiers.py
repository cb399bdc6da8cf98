"""What TensorFlow 1's documentation shows first, and what its guides to performance advise."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="a graph that a tf.Session runs, step by step",
        source='TensorFlow 1.15 Guide, "Graphs and Sessions"',
        compilers=("graph",),
    ),
    TUNED: Tier(
        says="a graph that a callable of the tf.Session runs, fused batch norm",
        source='TensorFlow 1.15 API, "tf.Session.make_callable", and '
        'TensorFlow 1 Guide, "Performance Guide", "Use fused Ops"',
        compilers=("graph",),
        settings={"run": "callable"},
    ),
}
