"""How far evidence may be from the reference, and why."""

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
"""Gate in float64. Frameworks agree to 3e-11 or better there (ResNet-50 to 4e-13); planted errors
show as 1e-5 or more where they act, and less where they spread. In float32 no such check can be
made: one framework's gradients differ from its own float64 ones by up to a quarter."""

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
    # 3.3e-2 (llama-15m, ViT-Ti/16 and BERT-Base in three frameworks); the gate is three times that.
    "int8": 1e-1,
}
"""Gates of outputs (relative norm of the difference) and of losses (relative) in the timed
precision. They are wide where arithmetic is coarse: there they must catch a different computation
(a missing layer, another loss, a wrong mask), and the float64 pass catches the rest."""


SHOWN_TOGETHER = 5e-6
"""Gate of outputs in fp32 over twenty sets of parameters, where a framework has no float64: the
root of their mean squared error. Each set by itself has the gate of `timed`. Seen in frameworks
with float64: 3e-7 to 7e-7 (ResNet-18 and 50), 1.4e-6 (BERT's smaller output, AlexNet); three times
that leaves room for another order of sums. The largest error of one set was 3e-6."""


@dataclass(frozen=True, kw_only=True)
class ChangeGates:
    """How far a step's changes in the timed precision may be from the float64 reference."""

    short: float | None
    """How far each tensor's change may fall short of the expected one, relative to it. Rounding has
    another direction, so it adds to a change; omitted work reduces it. None where a tensor's change
    may be smaller than its rounding."""
    shorter: float
    """For an eighth of all tensors, by depth: how far the norm of their changes may fall short of
    the expected one, relative to it."""
    longer: float
    """How far that norm may exceed the expected one, relative to it."""
    direction: float | None
    """Relative error of those changes as vectors; None where rounding leaves no direction."""
    statistics: float | None
    """Relative error of running statistics; None where one step is less than their rounding."""
    steps: bool = True
    """Whether the few steps of the workload's own optimizer are visible above rounding."""

    def of_steps(self) -> ChangeGates:
        """Gates for the few steps of the workload's own optimizer. A tensor may change by less than
        its rounding, and after three steps, statistics belong to parameters that differ. Seen: 0.01
        (MnasNet 0.5 in fp32).
        """
        statistics = None if self.statistics is None else 0.2
        return replace(self, short=None, direction=None, statistics=statistics)


ROUNDED = ChangeGates(short=0.7, shorter=0.4, longer=0.7, direction=None, statistics=0.2)
"""Gates where products have 8 or 11 bits. Seen in amp-bf16: a tensor's change is at least 0.69 of
the expected one (GoogLeNet), that of whole models 0.94 .. 1.02, of an eighth of a model 1.46
(ShuffleNet in JAX, where rounding is as large as the gradient, and adds its square); the direction
of ResNet-50's gradient is off by 0.3 of its size, Inception's by 1, which is no direction;
statistics 0.1 (ShuffleNet)."""
CHANGES = {
    # Seen: 0.04 short and 0.08 in direction (Inception), mostly 1e-3; statistics 1e-4.
    "fp32": ChangeGates(short=0.2, shorter=0.1, longer=0.1, direction=0.3, statistics=1e-3),
    "tf32": ROUNDED,
    "amp-fp16": ROUNDED,
    "amp-bf16": ROUNDED,
    # Seen: at least 0.6 of the expected change (ShuffleNet).
    "fp16": replace(ROUNDED, statistics=None, steps=False),
    "bf16": replace(ROUNDED, statistics=None, steps=False),
}
"""Gates of one step of plain descent that is as large as the parameters, so that it shows in all
precisions; and of the workload's own steps."""

DRIFT = 0.1
"""Share of the loss's change since the first step by which a later loss in the timed precision may
differ in addition: gradients carry rounding there (single tensors up to a quarter in float32),
while a step that skips its update would be off by the whole change."""

TIMED_DRIFT = 0.3
"""Share of the losses' drift since parameters were loaded by which timed losses may differ in
addition: the drift is not quite a straight line. Seen in ResNet-18: by a quarter from the first
eight steps to sixty. If every other step skips its update, losses are off by half of the drift."""

RULE = {"fp32": 1e-6, "tf32": 1e-6, "amp-fp16": 1e-6, "amp-bf16": 1e-6, "fp16": 2e-2, "bf16": 2e-2}
"""Gates of changes by the timed optimizer's own kernels on given gradients, which are exact in
every precision: what remains is the kernel's arithmetic, in float32 unless parameters are in half
precision. Seen: 3e-7."""

ROUNDED_BETA = 2.0**-24
"""A kernel that stores AdamW's second beta in float32 corrects the bias by 1 - beta, which then has
this error; the root halves it. Seen with 0.999: 7e-6."""

MASKED, MASKED_ERRORS = 0.01, 5.0
"""Gates of the share that dropout drops: the share of numbers too small to change, and the number
of standard errors of the count."""

DROPOUT = 0.5
"""Gate of the first loss with dropout against the one without: different, but of similar size."""

DROPPED = 0.1
"""Gate of losses where every framework draws its own dropout masks."""

TIMED_LOSSES = {"fp64": EXACT, "fp32": 1e-5, "tf32": 2e-3, "amp-fp16": 2e-3, "amp-bf16": 1e-2,
                "bf16": 1e-2}  # fmt: skip
"""Gates of losses in timed processes; measured rounding widens them. Seen in ResNet-18 in bf16, in
three frameworks: 5e-4."""

MOST_ANSWERS = 0.3
"""The widest that the gates of timed losses may become: beyond this, half of a step's work might be
missing."""

TIMED_OUTPUTS = {"fp64": EXACT, "fp32": 1e-5, "tf32": 1e-3, "amp-fp16": 1e-3, "fp16": 1e-3,
                 "amp-bf16": 4e-3, "bf16": 4e-3, "int8": 1e-1}  # fmt: skip
"""Gates of outputs in timed processes; measured rounding widens them, up to the gate of `timed`.
Seen in bf16 in a two-layer BERT and in ResNet-18, each in three frameworks: 5e-3 to 9e-3 over all
batches."""

CHANGED = {
    "fp64": (1e-6, 1e-6),
    # Seen after 16 steps: 7e-6 in norm and 1e-3 in direction (ResNet-18, LSTM, BERT of two layers),
    # 2e-5 and 7e-3 (ResNet-50). A backward pass of ResNet-18 in bfloat16 makes 1.4e-3 and 2.2e-2
    # after 4 steps; a skipped step makes 6e-2.
    "fp32": (2e-4, 8e-3),
    # They round by an eighth of bfloat16's unit. Not measured yet: only CUDA devices have them.
    "tf32": (1e-2, 1e-1),
    "amp-fp16": (1e-2, 1e-1),
    # Rounding has another direction, so it adds to the norm only by its square. Seen in ResNet-50:
    # 2e-4 and 2.4e-1.
    "amp-bf16": (2e-2, 3e-1),
    # Small steps are rounded away, except for parameters near zero: 400 numbers of ResNet-18 move.
    # Seen for those in three frameworks: 4e-3 to 2.9e-2 in norm and 5e-2 to 8.7e-2 in direction
    # after 16 steps, 1.1e-1 and 1.5e-1 after 4. Labels smoothed by 0.1: 1.5e-1, 2.3e-1 after 16.
    "bf16": (7e-2, 1.2e-1),
}
"""Initial gates of the changes of all parameters together after the same timed steps: of their
norm, and of the changes themselves. Only measured rounding widens them. For fp16, which only CUDA
devices have, the value is unknown."""

PHASES = {"fp64": 1e-6, "fp32": 1e-1, "tf32": 3e-1, "amp-fp16": 3e-1, "amp-bf16": 6e-1,
          "fp16": 5e-1, "bf16": 5e-1}  # fmt: skip
"""Gates of the gradients that a phase of a training step leaves, whose rounding is not measured."""

DROPPED_NORM = dict.fromkeys(CHANGED, 2e-1) | {"bf16": 4.5e-1}
"""Gates of the norm of all changes where frameworks draw their own masks; directions are then not
compared. The fewer numbers move, the more masks matter. Seen in bf16: 0.36, after 4 steps twice
that (SqueezeNet)."""

DROPPED_TENSOR = 2e-1
"""Gate of the norm of each tensor's change where masks are drawn, under AdamW, which divides by the
size of gradients. Seen in a two-layer BERT in four frameworks: 1e-1. Omitting half of every
sequence makes 3e-1 in the position embeddings. Under SGD, masks alone make 4e-1 (MobileNet v2)."""

STATISTICS = {
    # Seen: 7e-7, in amp-bf16 4e-3. They are sums of rounded numbers, so they follow the precision.
    precision: max(1e-3, 2 * gate) if precision != "fp64" else 1e-6
    for precision, gate in TIMED.items()
    if precision in CHANGED and precision != "bf16"  # where their steps are rounded away
}
"""Gates of the changes of all running statistics together after the same timed steps."""

GROWTH = 2e-1
"""Gate of the growth of the norm of all changes, against its growth from the other case's first
steps to its later ones, see results/changes.py. Seen in ResNet-18: 2 % from 16 to 64 steps. AdamW's
first steps are larger by 5 %, since they know less about the scatter of gradients. Skipping every
other step makes 5e-1. Not for bf16, where changes that are rounded away at first appear later."""

DROPPED_GROWTH = 7e-1
"""Gate of that growth where frameworks draw their own masks, whose scatter grows with the root of
the number of steps."""

FLOPS = 0.05
"""Gate of forward FLOPs by a framework's own counter: counters differ in which small operations
they count."""
