"""ResNet, including wide and grouped ones."""

from mbench.sdk.networks.resnet import forward

__all__ = ["forward"]
