"""Steps whose batches come from files: the time that they wait for images is a part of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from breakdowns import deep, times
from screens import on_screen
from support.experiments import asked

from mbench.explain.analysis import explain
from mbench.explain.plan import plan_breakdown
from mbench.explain.report import FORMATS
from mbench.explain.summary import Difference
from mbench.explain.tables import all_tables
from mbench.results import events
from mbench.results.pixels import PIPELINE, STEP
from mbench.spec.planning import plan


@pytest.fixture
def from_files(made_up):
    """Makes a run in which flaky's step alone takes 1.5 ms longer than tiny's, and flaky waits
    3 ms for images, tiny 1. Both times are known for each set.
    """

    def from_files(milliseconds, *, mode="train", **given):
        def both(label, model, at):
            more = label == "flaky"
            whole = milliseconds(label, model, at)
            fed = model in ("tiny-model", "tiny-deep", "inference")
            return whole + (1 + 2 * more + 0.02 * at) * fed

        run = made_up(both, mode=mode, **given)
        whole = min(run.comparisons)
        for number, case in run.cases.items():
            planned = case.planned
            if planned.comparison != whole:
                continue
            axes = replace(planned.axes, data="/photos")
            run.cases[number].planned = replace(planned, axes=axes)
            for at, process in case.processes.items():
                model = axes.model if axes.mode == "train" else axes.mode
                alone = milliseconds(planned.label, model, at)
                for part, taken in ((STEP, alone), (PIPELINE, 0.5)):
                    process.parts.append(
                        events.PartBlock(
                            case=planned.case, process=at, round=0, part=part, steps=10,
                            nanoseconds=round(10 * taken * 1e6),
                        )
                    )  # fmt: skip
        return run

    return from_files


def add_up(rows, whole):
    values = [row.difference_ms.value for row in rows]
    assert sum(values) == pytest.approx(whole.difference_ms.value, abs=1e-12)


def test_waiting_for_images_is_a_part_at_every_level(from_files):
    for taken, model in ((times, "tiny-model"), (deep, "tiny-deep")):
        explanation = explain(from_files(taken, model=model))
        (found,) = explanation.differences
        assert isinstance(found, Difference)
        assert found.input.difference_ms.value == pytest.approx(2.0)
        assert found.input.baseline_ms == pytest.approx(1.04)
        assert found.input.difference_ms.shown
        add_up([*found.kinds, *found.singly], found.operator_step)
        assert [row.name for row in found.singly][1] == "waiting for images"
        assert [row.name for row in found.phases] == [
            "forward", "backward", "update", "waiting for images",
        ]  # fmt: skip
        add_up(found.phases, found.phase_step)
    add_up(found.depth, found.stage_step)
    assert [row.name for row in found.depth] == [
        "front", "back", "waiting for images", "the rest (in no stage)",
    ]  # fmt: skip
    assert found.answer[0].part == "waiting for images"
    assert found.unattributed.value == pytest.approx(3.5 - 2.0 - 1.2)
    assert explanation.to_json()["differences"][0]["input"]["other_ms"] == pytest.approx(3.04)
    said = " ".join(on_screen(FORMATS["table"](explanation)).split())
    assert "2 ms more in waiting for images" in said
    assert "Waiting for images is the extra time of a step on files" in said
    for grid in all_tables(explanation)[:2]:
        assert any("waiting for images" in row for row in grid.rows), grid.title


def test_inference_is_the_step_alone_and_what_it_waits(from_files):
    (found,) = explain(from_files(times, mode="inference")).differences
    assert [row.name for row in found.phases] == ["step", "waiting for images"]
    add_up(found.phases, found.phase_step)


def test_longer_forms_and_operators_are_on_resident_batches(plugins):
    wanted = {"model": ("resnet18",), "batch_size": (8,)}
    (whole,) = plan(asked(frameworks=("tiny", "flaky"), wanted=wanted), plugins)
    entries = [replace(one, case=replace(one.case, data="/photos")) for one in whole.entries]
    parts = plan_breakdown(replace(whole, entries=tuple(entries))).parts
    fed = {
        entry.case.mode
        for part in parts
        for entry in part.comparison.entries
        if entry.case.data != "resident"
    }
    assert not fed
