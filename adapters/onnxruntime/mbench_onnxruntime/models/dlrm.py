"""Recommenders."""

from mbench.sdk.networks.dlrm import forward

__all__ = ["DIFFERENCES", "forward"]

DIFFERENCES = ("rows of tables are gathered and summed",)
