"""What PyTorch's documentation shows first, and what its tuning guide advises."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["ATTENTION", "TIERS"]

ATTENTION = "attention is scaled_dot_product_attention, of whose kernels PyTorch chooses one"
"""For all models, in all tiers: PyTorch's documentation advises it."""

TIERS = {
    DEFAULT: Tier(
        says="images in NCHW, the optimizer with default settings",
        source='PyTorch Tutorials, "Learn the Basics" and "Training a Classifier"',
        compilers=("eager",),
        executes={"eager": "eager"},
    ),
    TUNED: Tier(
        says="images and convolutions channels_last (on CUDA where Tensor Cores compute), a fused "
        "optimizer, cuDNN's auto-tuner",
        source='PyTorch Tutorials, "Performance Tuning Guide" and "Channels Last Memory Format in '
        'PyTorch", and torch.optim, "Algorithms"',
        compilers=("inductor", "eager"),  # torch.compile takes no LSTM and no collectives
        executes={"inductor": "torch.compile", "eager": "eager"},
        settings={"layout": "channels_last", "optimizer": "fused", "cudnn": "benchmark"},
    ),
}
