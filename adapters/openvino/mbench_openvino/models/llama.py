"""Llama as a causal language model, also with a cache of keys and values."""

from mbench.sdk.networks.llama import forward
from mbench_openvino.decoder import behind
from mbench_openvino.tiers import ATTENTION

__all__ = ["DIFFERENCES", "behind", "forward"]

DIFFERENCES = (ATTENTION, "rotations come from a table in place of sines in each step")
