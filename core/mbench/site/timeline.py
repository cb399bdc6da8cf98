"""The history of each case on each machine, and the steps found in it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, name
from mbench.contract.metric import THROUGHPUT
from mbench.reports.text import interval, number
from mbench.reports.verdicts import changes
from mbench.results.history import Point, linked, steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.site.publish import Machine, Published

__all__ = ["Line", "Step", "lines_of", "steps_of"]


QUIET = frozenset(axis.name for axis in AXES if axis.quiet)


@dataclass(frozen=True)
class Line:
    """A case on a machine over time, oldest first."""

    machine: Machine
    points: Sequence[Point]
    runs: Sequence[Published]
    """The run of each point."""

    @property
    def title(self) -> str:
        first = self.points[0]
        return f"{first.label}: {name(first.axes, less=QUIET)}, on {self.machine.host}"


@dataclass(frozen=True)
class Step:
    """Where the level of a line changes."""

    line: Line
    point: Point
    before: Point
    run: Published

    @property
    def says(self) -> str:
        """How much faster or slower, and from which version on."""
        change = self.point.change
        assert change is not None
        much = changes(change.ratio, low=change.low, high=change.high)
        versions = dict.fromkeys((self.before.version or "?", self.point.version or "?"))
        return f"{self.line.title}: {much} from {self.run.day} on ({' to '.join(versions)})"


def lines_of(runs: Iterable[Published]) -> list[Line]:
    """A line of throughput for each case on each machine; `runs` come oldest first."""
    by_machine: dict[Machine, list[tuple[Point, Published]]] = defaultdict(list)
    for run in runs:
        if run.integrity.reason:
            continue
        summary = run.summary
        for case in summary.cases:
            if case.throughput and case.outcome == "ok":
                point = Point(
                    run=summary.run,
                    started=summary.started,
                    protocol=summary.protocol.name,
                    host=summary.system.hostname,
                    cpu=summary.system.cpu,
                    label=case.label,
                    framework=case.framework,
                    version=case.version,
                    axes=case.axes,
                    figure=case.throughput,
                )
                by_machine[run.machine].append((point, run))
    made = []
    for machine, found in by_machine.items():
        points = linked(THROUGHPUT, [point for point, _ in found]).points
        lines: dict[str, list[tuple[Point, Published]]] = defaultdict(list)
        for point, (_, run) in zip(points, found, strict=True):
            lines[point.line].append((point, run))
        made += [Line(machine, *map(list, zip(*line, strict=True))) for line in lines.values()]
    return sorted(made, key=lambda line: (line.title, line.machine.about, line.points[0].line))


def steps_of(lines: Iterable[Line]) -> list[Step]:
    """All steps, the latest first."""
    found = []
    for line in lines:
        for point in steps(line.points):
            at = next(at for at, one in enumerate(line.points) if one is point)
            found.append(Step(line, point, line.points[at - 1], line.runs[at]))
    return sorted(found, key=lambda step: (step.point.started, step.says), reverse=True)


def figure_cells(point: Point) -> list[str]:
    """Throughput and its interval."""
    speed = point.figure
    return [f"{number(speed.value)} {speed.unit}", interval(speed.low, speed.high)]
