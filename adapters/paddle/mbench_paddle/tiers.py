"""What PaddlePaddle's documentation shows first, and what it advises for speed."""

from __future__ import annotations

from mbench.contract.tier import ADVISED, FIRST, Tier

__all__ = ["TIERS"]

TIERS = {
    FIRST: Tier(
        says="dygraph, the optimizer as it comes",
        source='PaddlePaddle Guides, "10 Minutes Quick Start"',
        compilers=("eager",),
    ),
    ADVISED: Tier(
        says="to_static for training, the inference engine for inference, oneDNN's kernels on the "
        "CPU, Momentum by several tensors at a time, cuDNN's search",
        source='PaddlePaddle Guides, "Dygraph to static graph", "Paddle Inference" and "FLAGS"; '
        'paddle.optimizer, "Momentum"',
        compilers=("engine", "static"),
        variables={"FLAGS_use_mkldnn": "1"},
        settings={"optimizer": "multi_tensor", "cudnn": "search"},
    ),
}
