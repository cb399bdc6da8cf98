"""Throughput over all stored runs, case by case."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import Axes
from mbench.results.database import open_runs
from mbench.results.encoding import plain_record
from mbench.results.figures import Figure, center, level_of
from mbench.results.identity import TRACED, CaseIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.results.encoding import Json

__all__ = ["History", "Point", "StepChange", "trace"]

POINTS = """
SELECT c.run, c.started, c.protocol, c.claims_interval, c.stopped, c.host, c.cpu, c.label,
    c.framework, c.version, c.axes, c.samples,
    list(
        p.steps * c.axes.batch_size * c.devices * 1e9 / p.nanoseconds ORDER BY c."case", p.process
    ) AS processes
FROM (
    -- The blocks timed whole; where a process has none, those timed step by step.
    SELECT filename, "case", process, coalesce(
            sum(steps) FILTER (NOT "each"), sum(steps)) AS steps,
        coalesce(sum(nanoseconds[1]) FILTER (NOT "each"), sum(list_sum(nanoseconds))) AS nanoseconds
    FROM blocks GROUP BY ALL
) p
JOIN cases c USING (filename, "case")
WHERE c.outcome IS NULL AND p.nanoseconds >= 1
    AND (len($models) = 0 OR list_contains($models, c.axes.model))
    AND (len($frameworks) = 0
        OR list_contains($frameworks, c.framework) OR list_contains($frameworks, c.label))
GROUP BY ALL
ORDER BY c.started, c.run, min(c."case")
"""


@dataclass(frozen=True, kw_only=True)
class StepChange:
    """How a point compares with the one before it."""

    run: str
    """the run of the point before"""
    ratio: float
    """its figure by that of the point before"""
    low: float | None
    """lower end of its 95 % interval"""
    high: float | None
    """upper end"""
    verdict: str
    """what the interval shows"""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A case of a run."""

    run: str
    """the run"""
    started: str
    """when it began: ISO 8601, UTC"""
    protocol: str
    """name of the protocol"""
    host: str
    """name of the machine"""
    cpu: str
    """its processor"""
    label: str
    """the framework with its settings"""
    framework: str
    """the adapter's name"""
    version: str | None
    """version of the framework"""
    axes: Axes = field(metadata={"flat": "axis"})
    """each of the axes"""
    throughput: Figure
    """samples per second"""
    change: StepChange | None
    """against the point before; null for the first of a line"""

    @property
    def line(self) -> str:
        """Points with the same value make one line: a version is what changes along it."""
        identity = CaseIdentity(
            axes=self.axes,
            framework=self.framework,
            label=self.label,
            protocol=self.protocol,
            machine={"cpu": self.cpu},
        )
        return identity.key(TRACED)


@dataclass(frozen=True, kw_only=True)
class History:
    """All points, oldest first."""

    schema: int = 1
    points: list[Point]

    def to_json(self) -> dict[str, Json]:
        return plain_record(self)


def trace(
    files: Sequence[Path], *, models: Sequence[str] = (), frameworks: Sequence[str] = ()
) -> History:
    """Every case that was measured whole, oldest first, with its change from the one before.

    The throughput is computed as for a single run, so that both say the same number.
    """
    database = open_runs(files)
    found = database.execute(POINTS, {"models": list(models), "frameworks": list(frameworks)})
    names = [column[0] for column in found.description or ()]
    before: dict[str, Point] = {}
    points = []
    for row in found.fetchall():
        values = dict(zip(names, row, strict=True))
        processes, samples = values.pop("processes"), values.pop("samples")
        level = level_of(values.pop("claims_interval"), stopped=values.pop("stopped"))
        interval = center(processes, level=level)
        point = Point(
            **{**values, "axes": Axes(**values["axes"])},
            throughput=Figure(
                value=interval.value,
                low=interval.low,
                high=interval.high,
                unit=f"{samples}/s",
                processes=processes,
            ),
            change=None,
        )
        line = point.line
        if line in before:
            point = replace(point, change=change(before[line], point))
        before[line] = point
        points.append(point)
    return History(points=points)


def change(base: Point, new: Point) -> StepChange:
    """How many times as fast as the point before, with the interval and a verdict."""
    interval = stats.contrast(base.throughput.processes, new.throughput.processes)
    return StepChange(
        run=base.run,
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        verdict=stats.verdict(interval),
    )
