"""ResNet, wide and grouped ones too."""

from mbench.sdk.networks.resnet import forward

__all__ = ["forward"]
