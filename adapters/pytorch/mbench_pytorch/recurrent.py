"""The LSTM of the model and of the operator.

Shapes: B batch, L sequence, F features, H hidden.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn

__all__ = ["DIFFERENCES", "LSTM"]

DIFFERENCES = (
    "on the CPU, PyTorch's own LSTM trains in bfloat16, and infers in it where the processor lacks "
    "AVX-512: oneDNN's has wrong gradients in PyTorch 2.13, and no other kernels in bfloat16",
)


class LSTM(nn.LSTM):
    """nn.LSTM, but without oneDNN where oneDNN is wrong or has no kernel."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:  # (B, L, F) -> (B, L, H)
        leaves = self.leaves_onednn(features)
        with torch.backends.mkldnn.flags(enabled=False) if leaves else nullcontext():
            states, _ = super().forward(features)
        return states

    def leaves_onednn(self, features: torch.Tensor) -> bool:
        """Whether to avoid oneDNN, on the CPU in bfloat16 or under autocast. In training, its
        bfloat16 gradients are wrong: with a hidden size of 1024, those of the first of two layers
        are 0.28 of the right ones, and those of the first of eight vanish. In inference, it may
        have no bfloat16 kernel for this processor.
        """
        low = features.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
        if not low or features.device.type != "cpu":
            return False
        return self.training or not torch.ops.mkldnn._is_mkldnn_bf16_supported()
