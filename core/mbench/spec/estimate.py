"""How long a comparison is going to take, as far as that can be told before it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.spec.planning import Comparison
    from mbench.spec.protocol import Protocol

__all__ = ["estimate", "span"]


def estimate(
    comparison: Comparison, protocol: Protocol, *, step_seconds: Mapping[int, float]
) -> tuple[float | None, str]:
    """Seconds and in words; None where nothing is known.

    `step_seconds` are those of earlier runs, by the number of the case. Environments, proofs and
    searches come on top.
    """
    entries = [entry for entry in comparison.entries if entry.support.supported]
    if not entries:
        return 0.0, "nothing to measure"
    return protocol.estimate([step_seconds.get(entry.number) for entry in entries])


def span(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
