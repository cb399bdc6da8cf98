"""AlexNet."""

from mbench.sdk.networks.alexnet import forward

__all__ = ["forward"]
