"""What PaddlePaddle's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["ATTENTION", "TIERS", "UNFUSED_ATTENTION"]

UNFUSED_ATTENTION = "attention is two matrix products around a softmax, not one fused kernel"
ATTENTION = (
    "attention is paddle.nn.functional.scaled_dot_product_attention: in half precision on CUDA one "
    "fused kernel, elsewhere two matrix products around a softmax"
)
"""In all tiers: PaddlePaddle's documentation shows it; its encoder layers are older."""

TIERS = {
    DEFAULT: Tier(
        says="the optimizer with default settings",
        source='PaddlePaddle Guides, "10 Minutes Quick Start"',
        compilers=("eager",),
        executes={"eager": "dygraph"},
    ),
    TUNED: Tier(
        # Not FLAGS_use_mkldnn: with it, PaddlePaddle 3.3.1 aborts in to_static. The engine uses
        # oneDNN without it.
        says="Momentum by several tensors at a time, cuDNN's search",
        source='PaddlePaddle Guides, "Dygraph to static graph" and "Paddle Inference"; '
        'paddle.optimizer, "Momentum"',
        compilers=("engine", "static"),
        executes={
            "engine": "the inference engine (with oneDNN on the CPU)",
            "static": "to_static",
        },
        settings={"optimizer": "multi_tensor", "cudnn": "search"},
    ),
}
