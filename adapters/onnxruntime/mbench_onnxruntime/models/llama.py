"""Llama as a causal language model, also with a cache of keys and values."""

from mbench.sdk.networks.llama import forward
from mbench_onnxruntime.decoder import behind, in_place
from mbench_onnxruntime.tiers import ATTENTION

__all__ = ["DIFFERENCES", "behind", "forward", "in_place"]

DIFFERENCES = (ATTENTION, "rotations come from a table in place of sines in each step")
