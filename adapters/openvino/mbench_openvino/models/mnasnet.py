"""MnasNet."""

from mbench.sdk.networks.mnasnet import forward

__all__ = ["forward"]
