"""A mixture of experts as a causal language model, also with a cache of keys and values."""

from functools import partial

from mbench.sdk.networks.moe import forward, mixture
from mbench_openvino import decoder
from mbench_openvino.tiers import ATTENTION

__all__ = ["DIFFERENCES", "behind", "forward"]

DIFFERENCES = (
    ATTENTION,
    "rotations come from a table in place of sines in each step",
    "experts are branches of the graph, each of the tokens that chose it",
)

behind = partial(decoder.behind, mlp=mixture)
