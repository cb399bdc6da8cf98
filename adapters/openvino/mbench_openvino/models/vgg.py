"""VGG, with and without batch norm."""

from mbench.sdk.networks.vgg import forward

__all__ = ["forward"]
