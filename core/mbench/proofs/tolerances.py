"""How far evidence may lie from the reference, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = [
    "CHANGED",
    "CHANGES",
    "DRIFT",
    "DROPOUT",
    "DROPPED",
    "DROPPED_GROWTH",
    "DROPPED_NORM",
    "DROPPED_TENSOR",
    "EXACT",
    "FLOPS",
    "GROWTH",
    "MASKED",
    "MASKED_ERRORS",
    "MOST_ANSWERS",
    "PHASES",
    "ROUNDED_BETA",
    "RULE",
    "SHOWN_TOGETHER",
    "STATISTICS",
    "TIMED",
    "TIMED_DRIFT",
    "TIMED_LOSSES",
    "TIMED_OUTPUTS",
    "UPDATE_FLOOR",
    "ChangeGates",
]  # fmt: skip

EXACT = 1e-9
"""In float64. Frameworks agree to 3e-11 or better there (ResNet-50 to 4e-13); planted errors show
as 1e-5 or more where they act, and less where they spread. In float32 no such check can be made:
one framework's gradients differ from its own float64 ones by up to a quarter."""

UPDATE_FLOOR = 1e-2
"""A tensor's change counts relative to its own norm, or to this share of the model's typical
change where its own is smaller: a gradient that is zero in theory (BERT's key biases, by the
shift invariance of softmax) is rounding noise in practice."""

TIMED = {
    "fp64": EXACT,
    # Seen: 6e-7 to 2e-6 (evaluation outputs), 4e-7 (loss).
    "fp32": 1e-5,
    # A TensorFloat-32 product has 10 bits of mantissa (5e-4), as float16 has; see amp-fp16.
    "tf32": 1e-2,
    # float16 rounds by 5e-4, and errors add up over some fifty layers as a random walk: 4e-3.
    "amp-fp16": 1e-2,
    "fp16": 2e-2,
    # bfloat16 rounds by 4e-3, over some fifty layers 3e-2; twice that leaves room.
    "amp-bf16": 6e-2,
    "bf16": 1e-1,
    # Weights and activations are rounded to 1/127 of their largest, layer by layer. Seen: 1.3e-2 to
    # 3.3e-2 (llama-15m, ViT-Ti/16 and BERT-Base in three frameworks), and three times that.
    "int8": 1e-1,
}
"""Of outputs (relative norm of the difference) and of losses (relative) in the timed precision.
They are wide where arithmetic is coarse: what they must catch there is another computation (a
missing layer, another loss, a wrong mask), and the float64 pass catches the rest."""


SHOWN_TOGETHER = 5e-6
"""Of outputs in fp32 over twenty sets of parameters: the root of their mean squared error, where a
framework has no float64. Each set by itself has the gate of `timed`. Seen of frameworks that have
float64: 3e-7 to 7e-7 (ResNet-18 and 50), 1.4e-6 (BERT's smaller output, AlexNet), and three times
that leaves room for another order of sums. The largest of one set was 3e-6."""


@dataclass(frozen=True, kw_only=True)
class ChangeGates:
    """How far what a step changes in the timed precision may lie from the float64 reference."""

    short: float | None
    """Of each tensor: by how much less than due it changes, relative to that. Rounding is another
    direction, so it adds to a change; what is left out takes away. None where a tensor's own change
    may be less than it is rounded by."""
    shorter: float
    """Of an eighth of all tensors, by depth: by how much less than due the norm of their changes
    is,"""
    longer: float
    """and by how much more, relative to that."""
    direction: float | None
    """Of those changes themselves; None where rounding leaves no direction."""
    statistics: float | None
    """Of running statistics; None where a step of theirs is less than they are rounded by."""
    steps: bool = True
    """Whether the few steps of the workload's own optimizer show beside rounding."""

    def of_steps(self) -> ChangeGates:
        """For those: a tensor may change by less than it is rounded by, and statistics after three
        steps are of parameters that lie apart. Seen: 0.01 (MnasNet 0.5 in fp32).
        """
        statistics = None if self.statistics is None else 0.2
        return replace(self, short=None, direction=None, statistics=statistics)


ROUNDED = ChangeGates(short=0.7, shorter=0.4, longer=0.7, direction=None, statistics=0.2)
"""Where products are of 8 or 11 bits. Seen in amp-bf16: a tensor's change 0.69 of what is due at
least (GoogLeNet), that of whole models 0.94 .. 1.02, of an eighth of one 1.46 (ShuffleNet in JAX,
where rounding is as large as the gradient, and adds its square); the direction of ResNet-50's
gradient off by 0.3 of its size, of Inception's by 1, which is no direction; statistics 0.1
(ShuffleNet)."""
CHANGES = {
    # Seen: 0.04 short and 0.08 in direction (Inception), mostly 1e-3; statistics 1e-4.
    "fp32": ChangeGates(short=0.2, shorter=0.1, longer=0.1, direction=0.3, statistics=1e-3),
    "tf32": ROUNDED,
    "amp-fp16": ROUNDED,
    "amp-bf16": ROUNDED,
    # Seen: 0.6 of what is due at least (ShuffleNet).
    "fp16": replace(ROUNDED, statistics=None, steps=False),
    "bf16": replace(ROUNDED, statistics=None, steps=False),
}
"""Of one step of bare descent that is as large as the parameters, so that it shows in all
precisions; and of the workload's own steps."""

DRIFT = 0.1
"""Share of the loss's change since the first step by which a later loss in the timed precision may
differ besides: gradients carry rounding there (single tensors up to a quarter in float32), while
a step that skips its update would be off by the whole change."""

TIMED_DRIFT = 0.3
"""Share of the losses' drift since parameters were loaded by which they may differ besides, in what
is timed: the drift is no straight line quite. Seen of ResNet-18: by a quarter from the first eight
steps to sixty. A step of two that skips its update is off by half of the drift."""

RULE = {"fp32": 1e-6, "tf32": 1e-6, "amp-fp16": 1e-6, "amp-bf16": 1e-6, "fp16": 2e-2, "bf16": 2e-2}
"""Of changes by the timed optimizer's own kernels on given gradients, which are exact in every
precision: what is left is the kernel's arithmetic, in float32 but where parameters are in half.
Seen: 3e-7."""

ROUNDED_BETA = 2.0**-24
"""A kernel that holds AdamW's second beta in float32 corrects the bias by 1 - beta, which has this
error then; half of it is in the root. Seen with 0.999: 7e-6."""

MASKED, MASKED_ERRORS = 0.01, 5.0
"""Of the share that dropout drops: numbers that do not change for their smallness, and standard
errors of the count."""

DROPOUT = 0.5
"""Of the first loss with dropout against the one without: another loss, but of the same size."""

DROPPED = 0.1
"""Of losses where every framework draws its own dropout masks."""

TIMED_LOSSES = {"fp64": EXACT, "fp32": 1e-5, "tf32": 2e-3, "amp-fp16": 2e-3, "amp-bf16": 1e-2,
                "bf16": 1e-2}  # fmt: skip
"""Of losses in timed processes; measured rounding widens it. Seen of ResNet-18 in bf16, in three
frameworks: 5e-4."""

MOST_ANSWERS = 0.3
"""To which: beyond, half of a step's work might be missing."""

TIMED_OUTPUTS = {"fp64": EXACT, "fp32": 1e-5, "tf32": 1e-3, "amp-fp16": 1e-3, "fp16": 1e-3,
                 "amp-bf16": 4e-3, "bf16": 4e-3, "int8": 1e-1}  # fmt: skip
"""Of outputs there; measured rounding widens it, up to the gate of `timed`. Seen in bf16 of a BERT
of two layers and of ResNet-18, each in three frameworks: 5e-3 to 9e-3 of all batches together."""

CHANGED = {
    "fp64": (1e-6, 1e-6),
    # Seen after 16 steps: 7e-6 in norm and 1e-3 in direction (ResNet-18, LSTM, BERT of two layers),
    # 2e-5 and 7e-3 (ResNet-50). A backward pass of ResNet-18 in bfloat16 is 1.4e-3 and 2.2e-2
    # after 4 steps; a step that is skipped 6e-2.
    "fp32": (2e-4, 8e-3),
    # Their unit is an eighth of bfloat16's. Nobody has looked yet: CUDA devices only have them.
    "tf32": (1e-2, 1e-1),
    "amp-fp16": (1e-2, 1e-1),
    # Rounding is another direction, so it adds to the norm by its square only. Seen of ResNet-50:
    # 2e-4 and 2.4e-1.
    "amp-bf16": (2e-2, 3e-1),
    # Small steps are rounded away, but of parameters near zero: 400 numbers of ResNet-18 move. Seen
    # of those in three frameworks: 4e-3 to 2.9e-2 in norm and 5e-2 to 8.7e-2 in direction after 16
    # steps, 1.1e-1 and 1.5e-1 after 4. Labels smoothed by 0.1 make 1.5e-1 and 2.3e-1 after 16.
    "bf16": (7e-2, 1.2e-1),
}
"""Where gates begin of the changes of all parameters together after the same timed steps: of their
norm, and of themselves. Measured rounding widens them, and nothing else. Of fp16, which CUDA
devices only have, nobody knows where."""

PHASES = {"fp64": 1e-6, "fp32": 1e-1, "tf32": 3e-1, "amp-fp16": 3e-1, "amp-bf16": 6e-1,
          "fp16": 5e-1, "bf16": 5e-1}  # fmt: skip
"""Of the gradients that a phase of a training step leaves, which rounding is not measured of."""

DROPPED_NORM = dict.fromkeys(CHANGED, 2e-1) | {"bf16": 4.5e-1}
"""Of that norm where frameworks draw masks of their own; their directions are not compared. Of few
numbers that move, masks make more. Seen in bf16: 0.36, by 4 steps twice that (SqueezeNet)."""

DROPPED_TENSOR = 2e-1
"""Likewise of each tensor by itself, under AdamW, which divides by how large gradients are. Seen of
a BERT of two layers in four frameworks: 1e-1; half of every sequence left out is 3e-1 in the
embeddings of positions. Under SGD masks alone make 4e-1 (MobileNet v2)."""

STATISTICS = {
    # Seen: 7e-7, in amp-bf16 4e-3. They are sums of what a precision rounds, so they follow it.
    precision: max(1e-3, 2 * gate) if precision != "fp64" else 1e-6
    for precision, gate in TIMED.items()
    if precision in CHANGED and precision != "bf16"  # where a step of theirs is rounded away
}
"""Of the changes of all running statistics together after the same timed steps."""

GROWTH = 2e-1
"""Of the norm of all changes against what the other case's later steps made of its first ones, see
results/changes.py. Seen of ResNet-18: 2 % from 16 to 64 steps. AdamW's first steps are larger
by 5 %, since they know less of how gradients scatter. A step of two that is skipped is 5e-1. Not of
bf16, where what is rounded away at first comes later."""

DROPPED_GROWTH = 7e-1
"""Likewise where masks are drawn: their scatter grows by the root of the steps."""

FLOPS = 0.05
"""Of forward FLOPs by a framework's own counter: counters differ in which small operations they
count."""
