"""Vision transformers."""

from mbench.sdk.networks.vit import forward

__all__ = ["DIFFERENCES", "forward"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)
