"""Runs whose steps take made-up times."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.experiments import asked

from mbench.explain.plan import plan_breakdown
from mbench.measure import facts
from mbench.results import events
from mbench.results.records import CaseRecord, ComparisonRecord, Process, Run
from mbench.spec.planning import plan


@pytest.fixture
def made_up(plugins):
    """Makes a run whose steps take `milliseconds(label, model, set)`.

    In modes other than training, the mode is passed as `model`.
    """

    def made_up(
        milliseconds, *, sets=5, model="tiny-model", mode="train", frameworks=("tiny", "flaky")
    ):
        wanted = {"model": (model,), "batch_size": (8,), "mode": (mode,)}
        (whole,) = plan(asked(frameworks=frameworks, wanted=wanted), plugins)
        header = SimpleNamespace(id="made-up", schema=1)
        plan_of_parts = plan_breakdown(whole)
        run = Run(folder=Path(), header=header, more=[plan_of_parts.event])
        for comparison in plan_of_parts.comparisons:
            run.comparisons[comparison.number] = ComparisonRecord(comparison.title)
            for planned in facts.cases(comparison):
                record = CaseRecord(planned)
                for at in range(sets):
                    axes = planned.axes
                    taken = milliseconds(
                        planned.label, axes.model if axes.mode == "train" else axes.mode, at
                    )
                    block = events.Block(
                        case=planned.case, process=at, round=0, each=False, start=0, steps=10,
                        nanoseconds=[round(10 * taken * 1e6)], ranks=[],
                    )  # fmt: skip
                    record.processes[at] = Process(None, blocks=[block], idle_look=1)
                run.cases[planned.case] = record
                run.comparisons[comparison.number].cases.add(planned.case)
        return run

    return made_up
