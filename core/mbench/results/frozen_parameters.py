"""Parts of a model whose parameters stay where they were loaded, while another's move."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FEWEST", "standstill"]

FEWEST = 3
"""Tensors of a part. Where parameters are in bfloat16, a few hundred of millions of numbers move in
16 steps, one or two of some tensors: honest frameworks differ in one tensor of a part (ResNet-18,
SqueezeNet 1.1, MobileNet v2, ShuffleNet v2, an LSTM, BERT-Base with dropout)."""


def standstill(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> tuple[int, str]:
    """How many tensors moved in `reference` below a name below which none of `found` did: the most
    of all such names, and that name.

    However small a part's share of all changes is, a part that is left out shows.
    """
    moved, due = Counter(parts(found)), Counter(parts(reference))
    return max(((due[name], name) for name in due if not moved[name]), default=(0, ""))


def parts(sketches: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """All names above each tensor that moved."""
    for name, sketch in sketches.items():
        if sketch[0] > 0:
            above, _, _ = name.rpartition(".")
            while above:
                yield above
                above, _, _ = above.rpartition(".")
