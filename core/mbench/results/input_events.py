"""The events of cases whose batches come from files."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.quantities import Nanoseconds, Number, Seconds, Steps
from mbench.results.event_base import Event, OfCase, OfProcess
from mbench.results.pixels import DataSetRecord, PixelRecord

__all__ = ["DataSet", "PartBlock", "Pixels"]


@dataclass(frozen=True, kw_only=True)
class DataSet(DataSetRecord, Event):
    """Before a comparison is measured whose batches come from files."""

    comparison: Number
    """Number of the comparison."""


@dataclass(frozen=True, kw_only=True)
class Pixels(PixelRecord, OfCase):
    """When the pixels of a case's input pipeline were looked at, before it is timed."""


@dataclass(frozen=True, kw_only=True)
class PartBlock(OfProcess):
    """After a block of a part of what a case with an input pipeline does."""

    round: Number
    """Number of the round among those of the process."""
    part: str
    """ "step": steps on resident batches; "pipeline": batches of the pipeline, and no step."""
    steps: Steps
    """Steps, or batches."""
    nanoseconds: Nanoseconds
    """Duration of the block."""
    worker_seconds: Seconds | None = None
    """Processor time of the worker for it, loaders included; None where nobody looked."""
