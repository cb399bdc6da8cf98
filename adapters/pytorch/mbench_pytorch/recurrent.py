"""The LSTM of the model and of the operator.

Shapes: B batch, L sequence, F features, H hidden.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn

__all__ = ["LSTM"]


class LSTM(nn.LSTM):
    """Without oneDNN where that is wrong or has no kernel."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:  # (B, L, F) -> (B, L, H)
        by_itself = self.is_miscomputed(features)
        with torch.backends.mkldnn.flags(enabled=False) if by_itself else nullcontext():
            states, _ = super().forward(features)
        return states

    def is_miscomputed(self, features: torch.Tensor) -> bool:
        """Whether oneDNN's gradients are wrong: seen with a hidden size of 1024, where those of the
        first of two layers are 0.28 of what is due, and of the first of eight are gone. Or whether
        PyTorch would ask it for a kernel that it has not, under autocast.
        """
        low = features.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
        if not low or features.device.type != "cpu":
            return False
        return self.training or not torch.ops.mkldnn._is_mkldnn_bf16_supported()
