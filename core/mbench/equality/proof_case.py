"""The small case in which a case is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbench.contract.case import Case

__all__ = ["proof_case"]

UNSIZED: dict[str, Any] = {"image_size": None, "sequence_length": None}


def proof_case(case: Case) -> Case:
    """`case` at its workload's proof sizes, and learning rate, clipped, without dropout, seed 0."""
    proof = replace(case, **UNSIZED).resolve().proof
    return replace(case, seed=0, dropout=False, clip=True, **{**UNSIZED, **proof})
