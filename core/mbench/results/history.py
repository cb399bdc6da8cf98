"""Throughput over all stored runs, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.contract.axes import key
from mbench.results.database import open_runs
from mbench.results.figures import center, level_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["line", "trace"]

Document = dict[str, Any]

POINTS = """
SELECT c.run, c.started, c.protocol, c.claims_interval, c.stopped, c.host, c.cpu, c.label,
    c.framework, c.version, c.axes, c.samples || '/s' AS unit,
    list(
        p.steps * c.axes.batch_size * c.devices * 1e9 / p.nanoseconds ORDER BY p.process
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


def trace(
    files: Sequence[Path], *, models: Sequence[str] = (), frameworks: Sequence[str] = ()
) -> Document:
    """Every case that was measured whole, oldest first, with its change from the one before.

    The throughput is computed as for a single run, so that both say the same number.
    """
    database = open_runs(files)
    found = database.execute(POINTS, {"models": list(models), "frameworks": list(frameworks)})
    names = [column[0] for column in found.description or ()]
    before: dict[tuple[Any, ...], Document] = {}
    points = []
    for row in found.fetchall():
        point = dict(zip(names, row, strict=True))
        point |= point.pop("axes")
        values = point.pop("processes")
        level = level_of(point.pop("claims_interval"), stopped=point.pop("stopped"))
        point["throughput"] = {
            **center(values, level=level),
            "unit": point.pop("unit"), "processes": values,
        }  # fmt: skip
        series = line(point)
        point["change"] = change(before[series], point) if series in before else None
        before[series] = point
        points.append(point)
    return {"schema": 1, "points": points}


def line(point: Document) -> tuple[Any, ...]:
    """Points with the same value make one line: a version is what changes along it."""
    return point["protocol"], point["label"], point["cpu"], *key(point)


def change(base: Document, new: Document) -> Document:
    """How many times as fast as the point before, with the interval and a verdict."""
    interval = stats.contrast(base["throughput"]["processes"], new["throughput"]["processes"])
    return {
        "run": base["run"],
        "ratio": interval.value,
        "low": interval.low,
        "high": interval.high,
        "verdict": stats.verdict(interval),
    }
