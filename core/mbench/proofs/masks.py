"""How much dropout drops, by which gradients are zero in two draws."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbench.proofs.judge import CheckResult
from mbench.proofs.tolerances import MASKED, MASKED_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.wire import StepEvidence

__all__ = ["judge_masks"]


def judge_masks(
    one: StepEvidence, other: StepEvidence, rates: Mapping[str, float]
) -> Iterator[CheckResult]:
    """A finding for each rate, of all tensors that have it; `rates` by the name of the tensor.

    Of units that are not zero anyway, a share p is dropped in each draw. One draw shows 1 - p of
    them, both together 1 - p^2: the quotient is 1 + p.
    """
    for rate in sorted(set(rates.values())):
        names = [name for name in rates if rates[name] == rate]
        first, second = ("".join(step.moved[name] for name in names) for step in (one, other))
        shown = (first.count("1") + second.count("1")) / 2
        either = sum("1" in pair for pair in zip(first, second, strict=True))
        if not shown:
            yield CheckResult("masks", math.inf, 0.0, f"nothing is left of {names[0]}")
            continue
        share = either / shown - 1
        scatter = math.sqrt((rate**2 + rate * (1 - rate) / 2) / max(shown / (1 - rate), 1))
        gate = MASKED_ERRORS * scatter + MASKED
        where = f"{share:.3g} dropped before or after {names[0]}, where {rate:g} is due:"
        yield CheckResult("masks", abs(share - rate), gate, where)
