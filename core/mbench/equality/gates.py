"""How far evidence may lie from the reference, and why."""

from __future__ import annotations

__all__ = ["DRIFT", "DROPOUT", "DROPPED", "EXACT", "FLOPS", "TIMED", "UPDATE_FLOOR"]

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
}
"""Of outputs (relative norm of the difference) and of losses (relative) in the timed precision.
They are wide where arithmetic is coarse: what they must catch there is another computation (a
missing layer, another loss, a wrong mask), and the float64 pass catches the rest."""

DRIFT = 0.1
"""Share of the loss's change since the first step by which a later loss in the timed precision may
differ besides: gradients carry rounding there (single tensors up to a quarter in float32), while
a step that skips its update would be off by the whole change."""

DROPOUT = 0.5
"""Of the first loss with dropout against the one without: another loss, but of the same size."""

DROPPED = 0.1
"""Of first losses where every framework draws its own dropout masks."""

FLOPS = 0.05
"""Of forward FLOPs by a framework's own counter: counters differ in which small operations they
count."""
