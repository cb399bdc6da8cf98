"""What the file of a run of `mbench explain` holds besides the events of every run."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.quantities import Count, Number
from mbench.results.events import Event

__all__ = ["KINDS", "Breakdown", "PartCount"]


@dataclass(frozen=True, kw_only=True)
class PartCount:
    """How often a part counts in the whole step."""

    comparison: Number
    """Number of the part's comparison."""
    count: Count
    """For an operator, how often the whole step calls it; else 1."""


@dataclass(frozen=True, kw_only=True)
class Breakdown(Event):
    """Once, before the comparisons of a run of `mbench explain`."""

    whole: Number
    """Number of the comparison of whole steps."""
    parts: list[PartCount]
    """All other comparisons of the run."""


KINDS = (Breakdown,)
