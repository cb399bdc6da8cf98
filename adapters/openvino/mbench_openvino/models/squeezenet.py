"""SqueezeNet."""

from mbench.sdk.networks.squeezenet import forward

__all__ = ["forward"]
