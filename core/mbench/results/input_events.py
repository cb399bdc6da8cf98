"""The events of cases whose batches come from files."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.quantities import Nanoseconds, Number, Seconds, Steps
from mbench.results.event_base import Event, OfCase, OfProcess
from mbench.results.pixels import DataSetRecord, PixelRecord

__all__ = ["DataSet", "PartBlock", "Pixels"]


@dataclass(frozen=True, kw_only=True)
class DataSet(DataSetRecord, Event):
    """Before measuring a comparison whose batches come from files."""

    comparison: Number
    """Number of the comparison."""


@dataclass(frozen=True, kw_only=True)
class Pixels(PixelRecord, OfCase):
    """When the pixels of a case's input pipeline have been checked, before it is timed."""


@dataclass(frozen=True, kw_only=True)
class PartBlock(OfProcess):
    """After a block of one part of a case with an input pipeline."""

    round: Number
    """Number of the round among those of the process."""
    part: str
    """ "step": steps on resident batches; "pipeline": batches of the pipeline, and no step."""
    steps: Steps
    """Steps, or batches."""
    nanoseconds: Nanoseconds
    """Duration of the block."""
    worker_seconds: Seconds | None = None
    """Processor time of the worker for the block, loaders included; None if it was not measured."""
