"""What was measured for each framework: milliseconds of the step and of its parts, by set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from mbench.contract.feed import RESIDENT, feed_of
from mbench.explain.plan import EMPTY, form_in, phases
from mbench.results.figures import timed
from mbench.results.pixels import STEP
from mbench.workloads.operators.operator import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.contract.forms import Form
    from mbench.explain.plan import PartCount
    from mbench.results.records import CaseRecord, Run

__all__ = ["INPUT", "Operator", "Sets", "Side", "longer", "side_of", "step_times"]

INPUT, ALONE = "waiting for images", "step"
"""Parts of a step whose batches come from files. INPUT is the extra time over batches that stay on
the device, with which all other parts are measured. ALONE is the rest, in inference."""

Sets = Mapping[int, float]
"""Milliseconds by the number of the set."""
PHASES = ("forward", "backward")
"""The modes of steps that are only part of the whole step."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An operator's calls in a step."""

    count: int
    milliseconds: Sets
    """Time of all calls together."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """What was measured for one framework."""

    label: str
    whole: Sets
    empty: Sets
    input: Sets
    """How long a step waits for images; empty if batches stay on the device."""
    operators: Mapping[str, Operator]
    phases: Mapping[str, Sets]
    """What each phase adds to those before it; empty unless all were measured."""
    stages: Mapping[str, Sets]
    """How much longer the model takes with each stage doubled; empty unless all were measured."""
    partly: Mapping[str, tuple[Form, Sets]]
    """How much longer it takes with some blocks of a stage added; empty if not measured."""
    planned: Mapping[str, PartCount]
    """All operators of the step by name, whether measured or not."""

    @property
    def waits(self) -> Sets:
        """How long steps wait for images; 0 if batches stay on the device."""
        return self.input or dict.fromkeys(self.whole, 0.0)


def side_of(run: Run, whole: CaseRecord, parts: Mapping[int, PartCount]) -> Side:
    own = [case for case in run.cases.values() if case.planned.label == whole.planned.label]
    forms = longer(own, whole.axes.model)
    partly = {
        form.stage: (form, additional(case, whole))
        for case in own
        if (form := form_in(case.axes.model, whole.axes.model)) and not form.twice
    }
    models = {
        case.axes.model
        for case in own
        if case.axes.model == whole.axes.model or form_in(case.axes.model, whole.axes.model)
    }
    empty: Sets = {}
    operators: dict[str, Operator] = {}
    measured = {case.axes.model: case for case in own if case.axes.model not in models}
    if EMPTY in measured:
        empty = step_times(measured.pop(EMPTY))
    for name, case in measured.items():
        part = parts.get(case.planned.comparison)
        steps, calls = step_times(case), case.axes.batch_size
        if part is not None and steps:
            count = part.count
            per_step = {
                at: count * (steps[at] - empty[at]) / calls for at in steps.keys() & empty.keys()
            }
            operators[name] = Operator(count=count, milliseconds=per_step)
    return Side(
        label=whole.planned.label, whole=step_times(whole), empty=empty, input=waits_of(whole),
        operators=operators,
        phases=phases_of(own, whole), stages=stages_of(forms, whole),
        partly=partly,
        planned={part.model: part for part in parts.values()
                 if part.model.startswith(PREFIX) and part.model != EMPTY},
    )  # fmt: skip


def step_times(case: CaseRecord) -> Sets:
    """Milliseconds per step, of the processes measured completely; empty for a case that failed.

    Each process counts with the median of its blocks. Otherwise, a momentary delay of the machine
    would count as time of the part that it happened to hit.
    """
    if case.outcome is not None:
        return {}
    found = {}
    for number, process in case.processes.items():
        blocks = timed(process)
        if blocks and process.idle_look is not None:
            found[number] = median(sum(one.nanoseconds) / one.steps for one in blocks) / 1e6
    return found


def alone_times(case: CaseRecord) -> Sets:
    """Times of steps on batches that stay on the device: if the batches come from files, those of
    the steps that were measured in addition.
    """
    steps = step_times(case)
    if feed_of(case.axes.data) == RESIDENT:
        return steps
    found = {}
    for number in steps:
        blocks = [one for one in case.processes[number].parts if one.part == STEP]
        if blocks:
            found[number] = median(one.nanoseconds / one.steps for one in blocks) / 1e6
    return found


def waits_of(case: CaseRecord) -> Sets:
    if feed_of(case.axes.data) == RESIDENT:
        return {}
    both = step_times(case)
    return {at: both[at] - alone for at, alone in alone_times(case).items()}


def longer(cases: Iterable[CaseRecord], whole: str) -> dict[str, CaseRecord]:
    """The cases of the model `whole` with a doubled stage, by that stage, in planned order."""
    planned = sorted(cases, key=lambda case: case.planned.case)
    return {
        form.stage: case
        for case in planned
        if (form := form_in(case.axes.model, whole)) and form.twice
    }


def stages_of(forms: Mapping[str, CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    found = {stage: additional(case, whole) for stage, case in forms.items()}
    return found if all(found.values()) else {}


def additional(longer: CaseRecord, whole: CaseRecord) -> Sets:
    """How much longer the model takes with a longer stage."""
    more, steps = alone_times(longer), alone_times(whole)
    return {at: more[at] - steps[at] for at in more.keys() & steps.keys()}


def phases_of(own: Sequence[CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    least = next((case.axes for case in own if case.axes.mode in PHASES), None)
    axes, waits = whole.axes, waits_of(whole)
    waiting = {INPUT: waits} if waits else {}
    if least is None:
        return {ALONE: alone_times(whole), **waiting} if waits else {}
    least = replace(
        least, mode=axes.mode, data=axes.data, loaders=axes.loaders, storage=axes.storage
    )
    found: dict[str, Sets] = {}
    before: Sets = dict.fromkeys(step_times(whole), 0.0)
    for name, phase in phases(least, axes).items():
        steps: Sets = next((alone_times(case) for case in own if case.axes == phase), {})
        if not steps:
            return {}
        found[name] = {at: steps[at] - before[at] for at in steps.keys() & before.keys()}
        before = steps
    return {**found, **waiting}
