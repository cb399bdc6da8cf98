"""How long each comparison of an order is going to take, from its plan and from earlier runs."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from mbench.results.identity import CaseIdentity
from mbench.results.previous_runs import past_step_seconds
from mbench.spec.estimate import estimate

if TYPE_CHECKING:
    from mbench.spec.order import Order
    from mbench.spec.planning import Comparison

__all__ = ["Foreseen", "foreseen"]


class Foreseen(NamedTuple):
    """One comparison; seconds are None where nothing is known."""

    comparison: Comparison
    seconds: float | None
    words: str


def foreseen(order: Order) -> list[Foreseen]:
    """What is told without earlier runs is not looked for in them."""
    found = [Foreseen(one, *estimate(one, order.protocol, step_seconds={}))
             for one in order.comparisons]  # fmt: skip
    if all(one.seconds is not None for one in found):
        return found
    entries = [entry for comparison in order.comparisons for entry in comparison.entries]
    here = {"hostname": socket.gethostname()}
    cases = {
        entry.number: CaseIdentity(
            axes=entry.case,
            framework=entry.spec.name,
            spec=entry.spec.text,
            workload=entry.case.workload,
            machine=here,
        )
        for entry in entries
    }
    known = past_step_seconds(order.results, cases)
    return [Foreseen(one, *estimate(one, order.protocol, step_seconds=known))
            for one in order.comparisons]  # fmt: skip
