"""What MXNet's documentation shows first, and what its notes on performance advise."""

from __future__ import annotations

from mbench.contract.tier import DEFAULT, TUNED, Tier

__all__ = ["TIERS"]

TIERS = {
    DEFAULT: Tier(
        says="Gluon's own blocks, updates by several parameters at a time as Trainer's optimizers "
        "make them",
        source='MXNet Tutorials, "Gluon Crash Course"',
        compilers=("eager",),
        executes={"eager": "operation by operation"},
        settings={"aggregate": "4"},  # MXNET_OPTIMIZER_AGGREGATION_SIZE's default
    ),
    TUNED: Tier(
        says="fused products of attention, updates one parameter at a time on the CPU",
        source='MXNet, "Hybridize", "Some Tips for Improving MXNet Performance" and '
        '"Environment Variables"; the attention of GluonNLP\'s BERT',
        compilers=("onednn", "hybrid"),
        on_cuda=("hybrid",),
        executes={
            "onednn": "hybridized with static memory and shapes, oneDNN's graph pass",
            "hybrid": "hybridized with static memory and shapes",
        },
        settings={"attention": "interleaved"},
    ),
}
