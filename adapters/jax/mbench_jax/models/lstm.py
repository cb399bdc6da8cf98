"""A deep LSTM that classifies sequences; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from mbench_jax.images import loss
from mbench_jax.layers import SCANNED, Net, Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (SCANNED,)


def forward(net: Net, batch: Tensors) -> Tensors:
    """features (B, L, F) -> logits (B, K)."""
    x = batch["features"].swapaxes(0, 1)  # (L, B, F)
    for number in range(net.config.layers):
        x = net.lstm("lstm", x, number)
    return {"logits": net.linear("linear", x[-1], net.config.classes)}
