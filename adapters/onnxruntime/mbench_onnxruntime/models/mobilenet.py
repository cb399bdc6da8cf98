"""MobileNetV2."""

from mbench.sdk.networks.mobilenet import forward

__all__ = ["forward"]
