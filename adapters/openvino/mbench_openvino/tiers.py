"""What OpenVINO's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["ATTENTION", "TIERS"]

ATTENTION = "attention is OpenVINO's operation ScaledDotProductAttention"
"""For decoders, in all tiers."""

TIERS = {
    DEFAULT: Tier(
        says="the compiled model is called on NumPy arrays; it copies its outputs",
        source='OpenVINO, "Python API Advanced Inference", "Direct Inference with CompiledModel"',
        compilers=("latency",),
    ),
    TUNED: Tier(
        says="an infer request that shares the memory of inputs and outputs",
        source='OpenVINO, "Python API Advanced Inference", "Shared Memory on Inputs and Outputs"',
        compilers=("latency",),
        settings={"io": "shared"},
    ),
}
