"""What ONNX Runtime's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["ATTENTION", "TIERS"]

ATTENTION = "attention is ONNX's operator Attention, or GroupQueryAttention where that is named"
"""For decoders."""

TIERS = {
    DEFAULT: Tier(
        says="a session, run on NumPy arrays",
        source='ONNX Runtime, "Get started with ORT for Python"',
        compilers=("all",),
        executes={"all": "all graph optimizations"},
    ),
    TUNED: Tier(
        says="a session, inputs and outputs bound to it",
        source='ONNX Runtime, "Performance", "I/O Binding"',
        compilers=("all",),
        executes={"all": "all graph optimizations"},
        settings={"io": "bound"},
    ),
}
