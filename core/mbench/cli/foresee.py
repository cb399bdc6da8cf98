"""What `--dry-run` prints: the cases that would be measured, and how long that may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted, say

if TYPE_CHECKING:
    from mbench.spec.order import Order

__all__ = ["foresee"]


def foresee(order: Order) -> None:
    """Print every comparison, its unsupported cases with the reason, and the sum."""
    if not order.comparisons:
        say("nothing is left to measure")
        return
    from mbench.environments.locate import describe_locations
    from mbench.measure.estimate import foreseen

    entries = [entry for comparison in order.comparisons for entry in comparison.entries]
    total: float | None = 0.0
    for comparison, seconds, words in foreseen(order):
        total = None if total is None or seconds is None else total + seconds
        frameworks = ", ".join(
            f"{entry.label} ({entry.case.compiler})" for entry in comparison.entries
        )
        if comparison.best_compiler:
            frameworks = ", ".join(entry.label for entry in comparison.entries)
        say(f"{comparison.title}: {frameworks}: {words}")
        for entry in comparison.entries:
            if not entry.support.supported:
                say(f"  {entry.label}: unsupported: {entry.support.reason}")
    needed = {e.spec.text: (e.spec, e.adapter) for e in entries if e.support.supported}
    for text, where in describe_locations(needed.values(), accelerator=order.device).items():
        say(f"{text} runs {where}")
    lacking = sum(not entry.support.supported for entry in entries)
    said = f"{counted(len(order.comparisons), 'comparison')}, {counted(len(entries), 'case')}"
    said += f", {lacking} of them unsupported" if lacking else ""
    said += f": {order.protocol.in_all(total)}" if total is not None else ""
    say(f"{said}; environments, proofs and searches not included")
