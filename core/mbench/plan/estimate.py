"""How long a comparison is going to take, as far as that can be told before it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plan.protocol import Counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.plan.plan import Comparison
    from mbench.plan.protocol import Protocol

__all__ = ["estimate", "span"]


def estimate(
    comparison: Comparison,
    protocol: Protocol | Counted,
    *,
    step_seconds: Mapping[int, float],
) -> tuple[float | None, str]:
    """Seconds and in words; None where nothing is known.

    `step_seconds` are those of earlier runs, by the number of the case. Environments, proofs and
    searches come on top.
    """
    entries = [entry for entry in comparison.entries if entry.support.supported]
    if not entries:
        return 0.0, "nothing to measure"
    if not isinstance(protocol, Counted):
        return protocol.budget_seconds, f"at most {span(protocol.budget_seconds)}"
    if protocol.duration_seconds is None and not all(e.number in step_seconds for e in entries):
        return None, "unknown: no earlier run tells the time of a step"
    total = 0.0
    for entry in entries:
        step = step_seconds.get(entry.number, 0.0)
        counted = protocol.steps * step
        if protocol.duration_seconds is not None:
            counted = min(counted or protocol.duration_seconds, protocol.duration_seconds)
        total += protocol.steps_before * step + protocol.counted_epochs * counted
    total *= protocol.processes
    return (
        total,
        f"about {span(total)}, and the starting of {protocol.processes * len(entries)} workers",
    )


def span(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
