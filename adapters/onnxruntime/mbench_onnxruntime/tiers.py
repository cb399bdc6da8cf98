"""What the documentation of ONNX Runtime shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import ADVISED, FIRST, Tier

__all__ = ["TIERS"]

TIERS = {
    FIRST: Tier(
        says="a session with all graph optimizations, run on NumPy arrays",
        source='ONNX Runtime, "Get started with ORT for Python"',
        compilers=("all",),
    ),
    ADVISED: Tier(
        says="a session with all graph optimizations, inputs and outputs bound to it",
        source='ONNX Runtime, "Performance", "I/O Binding"',
        compilers=("all",),
        settings={"io": "bound"},
    ),
}
