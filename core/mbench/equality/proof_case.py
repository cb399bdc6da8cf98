"""The small case in which a case is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES

if TYPE_CHECKING:
    from mbench.contract.case import Case

__all__ = ["PROVEN", "proof_case"]

PROVEN = tuple(
    axis for axis in AXES if axis.name not in ("sizes", "batch_size", "steadiness", "clip")
)
"""The axes that are a case's in its proof, too; in the others, a proof has values of its own."""


def proof_case(case: Case) -> Case:
    """`case` at its workload's proof sizes, and learning rate, clipped, without dropout, seed 0."""
    proof = {"sizes": {}, **replace(case, sizes={}).resolve().proof}
    return replace(case, seed=0, dropout=False, clip=True, steadiness="usual", **proof)
