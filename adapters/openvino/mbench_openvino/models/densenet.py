"""DenseNet."""

from mbench.sdk.networks.densenet import forward

__all__ = ["forward"]
