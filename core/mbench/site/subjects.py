"""What has a page of its own: every model, framework and machine, with what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mbench.site.pages import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.site.matrix import Row
    from mbench.site.publish import Machine, Published
    from mbench.site.timeline import Line, Step

__all__ = ["frameworks_of", "subjects"]


@dataclass(frozen=True)
class All:
    """Everything on the site."""

    runs: Sequence[Published]
    rows: Sequence[Row]
    lines: Sequence[Line]
    steps: Sequence[Step]


class Of(Protocol):
    """Whether a row, a line or a run belongs to a page."""

    def row(self, row: Row) -> bool: ...
    def line(self, line: Line) -> bool: ...
    def run(self, run: Published) -> bool: ...


@dataclass(frozen=True)
class OfModel:
    model: str

    def row(self, row: Row) -> bool:
        return row.model == self.model

    def line(self, line: Line) -> bool:
        return line.points[0].axes.model == self.model

    def run(self, run: Published) -> bool:
        return any(case.axes.model == self.model for case in run.summary.cases)


@dataclass(frozen=True)
class OfFramework:
    framework: str

    def row(self, row: Row) -> bool:
        return self.framework in {row.baseline.framework, *(c.case.framework for c in row.cells)}

    def line(self, line: Line) -> bool:
        return line.points[0].framework == self.framework

    def run(self, run: Published) -> bool:
        return any(case.framework == self.framework for case in run.summary.cases)


@dataclass(frozen=True)
class OfMachine:
    machine: Machine

    def row(self, row: Row) -> bool:
        return row.machine == self.machine

    def line(self, line: Line) -> bool:
        return line.machine == self.machine

    def run(self, run: Published) -> bool:
        return run.machine == self.machine


def subjects(
    runs: Sequence[Published], rows: Sequence[Row], lines: Sequence[Line], steps: Sequence[Step]
) -> list[Subject]:
    """The subjects of all pages but the first one and those of runs."""
    whole = All(runs, rows, lines, steps)
    models = sorted({case.axes.model for run in runs for case in run.summary.cases})
    machines = sorted({run.machine for run in runs}, key=lambda one: (one.host, one.about))
    made = [subject(whole, OfModel(model), "models", model, model) for model in models]
    made += [
        subject(whole, OfFramework(name), "frameworks", title, name)
        for name, title in frameworks_of(runs)
    ]
    return made + [
        subject(whole, OfMachine(one), "machines", one.host, one.key, one.about)
        for one in machines
    ]  # fmt: skip


def subject(whole: All, of: Of, folder: str, title: str, key: str, about: str = "") -> Subject:
    return Subject(
        folder=folder,
        title=title,
        key=key,
        about=[about],
        rows=[row for row in whole.rows if of.row(row)],
        lines=[line for line in whole.lines if of.line(line)],
        steps=[step for step in whole.steps if of.line(step.line)],
        runs=[run for run in whole.runs if of.run(run)],
    )


def frameworks_of(runs: Sequence[Published]) -> list[tuple[str, str]]:
    """Every framework with its title, by title."""
    found = {case.framework: case.framework_title for run in runs for case in run.summary.cases}
    return sorted(found.items(), key=lambda one: (one[1].lower(), one[0]))
