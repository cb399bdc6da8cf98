"""A metric over all stored runs, case by case."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import Axes
from mbench.contract.metric import THROUGHPUT
from mbench.results.database import open_runs
from mbench.results.encoding import plain_record
from mbench.results.figures import Figure, figure, level, level_of, timed_steps
from mbench.results.folder import with_ids
from mbench.results.identity import TRACED, CaseIdentity
from mbench.results.metrics import (
    MetricSummary,
    check_metric,
    chosen_metric,
    described,
    known_metrics,
)
from mbench.results.run import load_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mbench.contract.metric import Metric
    from mbench.results.encoding import Json

__all__ = ["History", "Point", "StepChange", "linked", "steps", "trace"]

POINTS = """
SELECT c.run, c.started, c.protocol, c.claims_interval, c.stopped, c.host, c.cpu, c.label,
    c.framework, c.version, c.installed, c.axes, c.samples,
    list(
        p.steps * c.axes.batch_size * c.samples_per_item * c.devices * 1e9 / p.nanoseconds
        ORDER BY c."case", p.process
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
    """The run of the previous point."""
    ratio: float
    """How many times as good the point is, see `comparisons[].ratio`."""
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    """Upper end."""
    verdict: str
    """What the interval shows."""
    other_files: bool = False
    """Whether other distributions, or other files of one, were installed with the same version of
    the framework."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A case of a run."""

    run: str
    """The run."""
    started: str
    """When it began: ISO 8601, UTC."""
    protocol: str
    """Name of the protocol."""
    host: str
    """Name of the machine."""
    cpu: str
    """Its processor."""
    label: str
    """The framework with its settings."""
    framework: str
    """The adapter's name."""
    version: str | None
    """Version of the framework."""
    installed: str | None = None
    """Digest of everything installed with it; null if that is not known."""
    axes: Axes = field(metadata={"flat": "axis"})
    """Each of the axes."""
    figure: Figure
    """The metric's value."""
    change: StepChange | None = None
    """Change from the previous point; null for the first of a line."""

    @property
    def shown_version(self) -> str:
        """The version, and whether other files were installed under it than at the point before."""
        other = self.change is not None and self.change.other_files
        return (self.version or "") + (" (other files)" if other else "")

    @property
    def line(self) -> str:
        """Points with equal keys form one line; versions change along it."""
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
    metric: MetricSummary = field(default_factory=partial(described, THROUGHPUT))
    """What is traced."""
    points: list[Point]
    """Cases of runs."""

    def to_json(self) -> dict[str, Json]:
        return plain_record(self)


def trace(
    files: Sequence[Path],
    *,
    models: Sequence[str] = (),
    frameworks: Sequence[str] = (),
    metric: str = "",
) -> History:
    """Every case that was measured to its end, oldest first, with its change from the one before
    it.

    The figures are computed as for a single run, so that both give the same numbers. Throughput,
    which is the default, comes from the database; other metrics take longer.
    """
    if metric in ("", THROUGHPUT.name):
        chosen, points = THROUGHPUT, list(throughputs(files, models, frameworks))
    else:
        chosen, points = figures_of(files, models, frameworks, metric)
    runs = with_ids(file.parent for file in files)
    order = {id_: at for at, (_, id_) in enumerate(runs)}
    points.sort(key=lambda point: order.get(point.run, len(order)))
    return linked(chosen, points)


def linked(metric: Metric, points: Iterable[Point]) -> History:
    """Points, oldest first, each with its change from the one before it on its line."""
    before: dict[str, Point] = {}
    found = []
    for point in points:
        last = before.get(point.line)
        made = replace(point, change=change(metric, last, point)) if last else point
        before[point.line] = made
        found.append(made)
    return History(metric=described(metric), points=found)


def throughputs(
    files: Sequence[Path], models: Sequence[str], frameworks: Sequence[str]
) -> Iterator[Point]:
    """Throughputs from all runs at once."""
    with open_runs(files) as database:
        found = database.execute(POINTS, {"models": list(models), "frameworks": list(frameworks)})
        names = [column[0] for column in found.description or ()]
        rows = found.fetchall()
    for row in rows:
        values = dict(zip(names, row, strict=True))
        processes, samples = values.pop("processes"), values.pop("samples")
        level = level_of(values.pop("claims_interval"), stopped=values.pop("stopped"))
        values["axes"] = Axes(**values["axes"])
        yield Point(**values, figure=figure(processes, f"{samples}/s", level=level))


def figures_of(
    files: Sequence[Path], models: Sequence[str], frameworks: Sequence[str], name: str
) -> tuple[Metric, list[Point]]:
    """Figures from one run after another; raises UsageError if no case has that metric."""
    runs = sorted((load_run(file) for file in files), key=lambda run: (run.header.started, run.id))
    cases = [case.axes for run in runs for case in run.cases.values()]
    check_metric(name, cases)
    points = []
    for run in runs:
        for case in (run.cases[number] for number in sorted(run.cases)):
            metric = chosen_metric(case.axes, name)
            who = {case.planned.framework, case.planned.label}
            if (
                metric is None
                or case.outcome is not None
                or (models and case.axes.model not in models)
                or (frameworks and not who & set(frameworks))
            ):
                continue
            if found := timed_steps(case, metric).figure(level=level(run.protocol)):
                points.append(
                    Point(
                        run=run.id,
                        started=run.header.started,
                        protocol=run.header.protocol.name,
                        host=run.header.system.hostname,
                        cpu=run.header.system.cpu,
                        label=case.planned.label,
                        framework=case.planned.framework,
                        version=case.info.version if case.info else None,
                        installed=case.environment.installed if case.environment else None,
                        axes=case.axes,
                        figure=found,
                    )
                )
    return known_metrics(cases)[name], points


NEARBY = 3
"""Number of runs, besides the last one before a step, of which at least one has to confirm it."""


def steps(points: Sequence[Point]) -> list[Point]:
    """The points of one line at which its level changes, for a metric where more is better.

    The change from the previous point must be beyond doubt, given the number of points of the line.
    So must the change from an earlier point, and to the next one, if there are such points: a run
    that differs from all around it is not a step.
    """
    found = []
    for at in range(1, len(points)):
        way = direction(points, at - 1, at)
        earlier = range(max(0, at - 1 - NEARBY), at - 1)
        ends = at + 1 == len(points)
        if (
            way
            and (not earlier or any(direction(points, one, at) == way for one in earlier))
            and (ends or direction(points, at - 1, at + 1) == way)
        ):
            found.append(points[at])
    return found


def direction(points: Sequence[Point], before: int, after: int) -> int:
    """1 if a later point is shown to be higher than an earlier one, -1 if lower, else 0."""
    change = stats.contrast(
        points[before].figure.processes, points[after].figure.processes,
        comparisons=len(points) - 1,
    )  # fmt: skip
    return (1 if change.value > 1 else -1) if change.leaves_out(1) else 0


def change(metric: Metric, base: Point, new: Point) -> StepChange:
    """How many times as good `new` is as `base`, with the interval and a verdict."""
    before, now = (
        [metric.goodness(value) for value in point.figure.processes] for point in (base, new)
    )
    interval = stats.contrast(before, now)
    return StepChange(
        run=base.run,
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        verdict=stats.verdict(interval),
        other_files=base.version == new.version
        and bool(base.installed and new.installed)
        and base.installed != new.installed,
    )
