"""The small case in which a case is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench.contract.case import Case

__all__ = ["proof_case"]


def proof_case(case: Case) -> Case:
    """`case` at its workload's proof sizes, and learning rate, clipped, without dropout, seed 0."""
    proof = {"sizes": {}, **replace(case, sizes={}).resolve().proof}
    return replace(case, seed=0, dropout=False, clip=True, **proof)
