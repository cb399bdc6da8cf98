"""Parts add up to the difference of two steps exactly, and chance is not taken for a difference."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from breakdowns import deep, times
from screens import on_screen

from mbench.errors import MbenchError
from mbench.explain import states
from mbench.explain.analysis import explain
from mbench.explain.report import FORMATS
from mbench.explain.summary import Interval
from mbench.explain.tables import all_tables
from mbench.explain.text import where


def test_parts_and_what_is_left_make_the_difference(made_up):
    (found,) = explain(made_up(times)).to_json()["differences"]
    assert (found["baseline"], found["framework"], found["sets"]) == ("tiny", "flaky", 5)
    assert found["difference_ms"]["value"] == pytest.approx(1.5)
    by_kind = {one["kind"]: one["difference_ms"] for one in found["kinds"]}
    assert by_kind["linear"]["value"] == pytest.approx(1.0)
    assert by_kind["linear"]["shown"]
    assert by_kind["cross_entropy"]["value"] == pytest.approx(0.0)
    assert not by_kind["cross_entropy"]["shown"]
    assert found["residual"]["difference_ms"]["value"] == pytest.approx(0.5)
    parts = [found["empty"], found["residual"], *found["kinds"]]
    total = sum(part["difference_ms"]["value"] for part in parts)
    assert total == pytest.approx(found["difference_ms"]["value"], abs=1e-12)
    assert found["residual"]["baseline_ms"] == pytest.approx(5.02 - 0.102 - 2.5 + 0.001, abs=0.01)


def test_phases_make_the_difference(made_up):
    (found,) = explain(made_up(times)).to_json()["differences"]
    phases = {one["phase"]: one for one in found["phases"]}
    assert list(phases) == ["forward", "backward", "update"]
    values = [one["difference_ms"]["value"] for one in found["phases"]]
    assert values == pytest.approx([1.0, 0.2, 0.3])
    assert sum(values) == pytest.approx(found["difference_ms"]["value"], abs=1e-12)
    assert phases["backward"]["baseline_ms"] == pytest.approx(2.0)
    assert phases["update"]["baseline_ms"] == pytest.approx(1.02)
    assert sum(one["other_ms"] for one in found["phases"]) == pytest.approx(found["other_ms"])
    said = " ".join(on_screen(FORMATS["table"](explain(made_up(times)))).split())
    assert "By phase: 1 ms more in the forward pass, 0.3 ms more in the update" in said


@pytest.mark.parametrize("slow", ["flaky", "tiny==1.26"])
def test_tables_of_pairs_with_and_without_a_difference_have_the_same_columns(made_up, slow):
    """A pair that shows no difference has no shares of it, wherever it stands."""
    arms = ("tiny", "flaky", "tiny==1.26")
    run = made_up(lambda label, *more: times("flaky" if label == slow else "tiny", *more),
                  frameworks=arms)  # fmt: skip
    explanation = explain(run)
    table = next(grid for grid in all_tables(explanation) if grid.title == "By phase")
    assert table.columns[-1] == "of the difference"
    assert {len(row) for row in table.rows} == {len(table.columns)}
    shares = {(row[0], row[1]): row[-1] for row in table.rows}
    assert {pair: bool(share) for pair, share in shares.items()} == {
        pair: slow in pair for pair in shares
    }
    for format_ in ("table", "markdown", "csv", "json"):
        assert FORMATS[format_](explanation)
    assert slow in on_screen(FORMATS["table"](explanation))


def test_a_block_that_was_held_up_is_not_time_of_a_part(made_up):
    run = made_up(times)
    case = next(one for one in run.cases.values() if one.planned.label == "flaky")
    for process in case.processes.values():
        (block,) = process.blocks
        process.blocks += [
            replace(block, round=1),
            replace(block, round=2, nanoseconds=[100 * block.nanoseconds[0]]),
        ]
    (found,) = explain(run).to_json()["differences"]
    assert found["difference_ms"]["value"] == pytest.approx(1.5)


def test_stages_and_the_rest_make_the_difference(made_up):
    explanation = explain(made_up(deep, model="tiny-deep"))
    document = explanation.to_json()
    assert document["lengthened"] == ["front", "back"]
    (found,) = document["differences"]
    stages = {one["stage"]: one for one in found["stages"]}
    assert list(stages) == ["front", "back"]
    parts = [*found["stages"], found["rest"]]
    values = [one["difference_ms"]["value"] for one in parts]
    assert values == pytest.approx([0.0, 1.2, 0.3])
    assert sum(values) == pytest.approx(found["difference_ms"]["value"], abs=1e-12)
    for side in ("baseline_ms", "other_ms"):
        assert sum(one[side] for one in parts) == pytest.approx(found[side], abs=1e-12)
    assert stages["back"]["baseline_ms"] == pytest.approx(2.0)
    assert not any("+" in one["operator"] for one in found["operators"])
    assert [one["phase"] for one in found["phases"]] == ["forward", "backward", "update"]
    said = " ".join(on_screen(FORMATS["table"](explanation)).split())
    assert said.startswith(
        "flaky needs 1.5 ms more per step than tiny (1.5 .. 1.5; 6.52 against 5.02 ms): 1.2 ms "
        "more in stage back, in none of its operators; 0.3 ms (0.3 .. 0.3) are not attributed"
    )
    assert "because" not in said
    for name in ("markdown", "csv", "html"):
        assert "the rest (in no stage)" in on_screen(FORMATS[name](explanation))
    assert "by stage" in FORMATS["html"](explanation)


def test_operators_answer_where_no_stage_shows_what_they_do(made_up):
    """A stage is the difference of two long steps, and its interval may be wide."""
    (found,) = explain(made_up(deep, model="tiny-deep")).differences
    wide = Interval(value=1.2, low=-3.0, high=5.4, shown=False)
    hidden = [replace(row, difference_ms=wide) for row in found.stages]
    shown = Interval(value=1.1, low=0.9, high=1.3, shown=True)
    kinds = [replace(row, difference_ms=shown if row.name == "linear" else wide)
             for row in found.kinds]  # fmt: skip
    unsure = replace(found, stages=hidden, kinds=kinds, answer=[], unattributed=None)
    assert where(unsure) == ": no stage shows a difference, but operators do: 1.1 ms more in linear"
    assert where(replace(unsure, kinds=[])) == ": no stage shows a difference"
    assert where(replace(unsure, kinds=[], stages=[])) == ": no part shows a difference"


def test_a_stage_that_differs_is_split_into_its_operators_and_what_is_in_none(made_up):
    """The linear layers of the stage take 0.3 ms each in both frameworks."""
    explanation = explain(made_up(deep, model="tiny-deep"))
    (found,) = explanation.to_json()["differences"]
    back, rest = found["within"]
    assert (back["stage"], back["unmeasured"]) == ("back", [])
    kinds = {one["kind"]: one for one in back["kinds"]}
    assert list(kinds) == ["linear", "add"]
    assert kinds["linear"]["times"] == 3
    assert kinds["linear"]["baseline_ms"] == pytest.approx(3 * 0.3, abs=0.01)
    assert back["in_none"]["difference_ms"]["value"] == pytest.approx(1.2)
    assert back["in_none"]["difference_ms"]["shown"]
    for side in ("baseline_ms", "other_ms"):
        (stage,) = [one for one in found["stages"] if one["stage"] == "back"]
        parts = [*back["kinds"], back["in_none"]]
        assert sum(one[side] for one in parts) == pytest.approx(stage[side], abs=1e-9)
    assert rest["stage"] == "the rest (in no stage)"
    assert {one["kind"] for one in rest["kinds"]} == {"linear", "cross_entropy"}
    (table,) = [grid for grid in all_tables(explanation) if "by stage" in grid.title]
    assert table.columns[:3] == ("stage", "operator", "calls per step")
    assert ["back", "in no operator", ""] in [row[:3] for row in table.rows]


def test_operators_of_a_stage_that_were_left_out_are_in_none_that_was_measured(made_up):
    run = made_up(deep, model="tiny-deep")
    for case in run.cases.values():
        if case.axes.model.startswith("op:add/8"):
            case.processes.clear()
    explanation = explain(run)
    (found,) = explanation.to_json()["differences"]
    back, _ = found["within"]
    assert back["unmeasured"] == ["op:add/8x32"]
    assert "in no measured operator (1 left out)" in FORMATS["markdown"](explanation)


@pytest.mark.parametrize("labels", [("flaky",), ("tiny", "flaky")])
def test_operators_that_take_longer_than_their_stage_leave_it_nothing(made_up, labels):
    """One by one, the operators take 4.2 ms, but the stage takes 2 ms in tiny and 3.2 in flaky. If
    both stages are faster than their operators, flaky's extra time is not time outside of them.
    """

    def milliseconds(label, model, at):
        if model.startswith("op:linear") and label in labels:
            return 0.1 + 4 * 1.4
        return deep(label, model, at)

    explanation = explain(made_up(milliseconds, model="tiny-deep"))
    (found,) = explanation.to_json()["differences"]
    back = next(one for one in found["within"] if one["stage"] == "back")
    overlaps = [one for one in found["overlaps"] if one["level"] == "operators in back"]
    if labels == ("flaky",):
        assert not overlaps
        assert back["in_none"]["difference_ms"]["value"] < 0  # tiny really takes longer there
    else:
        assert back["in_none"] is None
        (overlap,) = overlaps
        assert (overlap["framework"], overlap["of"]) == ("flaky", "that part of the step")
        said = " ".join(str(one.text) for one in states.impossible(explanation.differences[0]))
        assert "together its operators in back take 0.998 ms (0.99" in said


def test_the_answer_names_an_operator_of_a_stage(made_up):
    def milliseconds(label, model, at):
        if model.startswith("op:linear") and label == "flaky":
            return 0.1 + 4 * 0.7
        return deep(label, model, at)

    said = " ".join(on_screen(FORMATS["table"](explain(made_up(milliseconds, model="tiny-deep"))))
                    .split())  # fmt: skip
    assert "1.2 ms more in stage back, in its linear;" in said


def test_a_waterfall_stands_between_the_answer_and_the_tables(made_up):
    explanation = explain(made_up(deep, model="tiny-deep"))
    for name in ("table", "markdown", "html"):
        said = on_screen(FORMATS[name](explanation))
        answer = said.index("flaky needs 1.5 ms more")
        fall = said.index("From a step of tiny to one of flaky, by stage (ms)")
        assert answer < fall < said.index("flaky against tiny, by stage")
    lines = on_screen(FORMATS["table"](explanation)).splitlines()
    (back,) = [line for line in lines if line.startswith("back ") and "+1.2 ms" in line]
    assert "++" in back


def bent(label, model, at):
    """As `deep`, but a third of stage "back" takes only 0.4 ms in flaky, and all of it 3.2 ms."""
    if (label, model) == ("flaky", "tiny-deep+back.1of3"):
        return deep(label, "tiny-deep", at) + 0.4
    return deep(label, model, at)


def test_stages_that_take_more_than_the_step_overlap(made_up):
    """No impossible figure is printed: neither a negative time nor a share of the difference."""

    def milliseconds(label, model, at):
        more = {"tiny-deep+back": 4.0, "tiny-deep+back.1of3": 4 / 3}.get(model, 0.0)
        return deep(label, model, at) + more * (label == "flaky")

    explanation = explain(made_up(milliseconds, model="tiny-deep"))
    (found,) = explanation.to_json()["differences"]
    assert found["rest"] is None
    (overlap,) = found["overlaps"]
    assert (overlap["framework"], overlap["level"]) == ("flaky", "stages")
    assert found["unattributed_ms"] is None
    assert overlap["beyond_ms"]["low"] > 0
    (state,) = states.impossible(explanation.differences[0])
    assert "parts overlap in flaky: together its stages take 1.68 ms (1.66 to" in str(state.text)
    for name in ("table", "markdown", "csv", "html"):
        said = on_screen(FORMATS[name](explanation))
        assert "the rest (in no stage)" not in said
    said = " ".join(on_screen(FORMATS["table"](explanation)).split())
    answer = said[: said.index(" By phase")]
    assert answer.endswith("5.2 ms more in stage back, in none of its operators")
    assert "attributed" not in answer
    (table,) = [grid for grid in all_tables(explanation) if "by stage" in grid.title]
    assert "of the difference" not in table.columns


def test_a_stage_that_does_not_grow_in_proportion_is_not_additive(made_up):
    explanation = explain(made_up(bent, model="tiny-deep"))
    (found,) = explanation.to_json()["differences"]
    assert [one["stage"] for one in found["stages"]] == ["front"]
    assert found["rest"] is None
    (stage,) = found["not_additive"]
    assert (stage["framework"], stage["stage"]) == ("flaky", "back")
    assert (stage["added"], stage["blocks"]) == (1, 3)
    assert stage["twice_ms"] == pytest.approx(3.2)
    assert stage["partly_ms"] == pytest.approx(0.4)
    (state,) = states.impossible(explanation.differences[0])
    said = str(state.text)
    assert "back is not additive here: in flaky, 3 more blocks take 3.2 ms, and 1 of" in said
    assert "of them 0.4 ms, which suggests 1.2 ms for all of them" in said
    assert "not additive here" in on_screen(FORMATS["table"](explanation))
    assert "not additive here" in FORMATS["html"](explanation)


def test_a_stage_that_one_of_them_lacks_leaves_depth_out(made_up):
    run = made_up(deep, model="tiny-deep")
    lacking = next(case for case in run.cases.values() if case.axes.model == "tiny-deep+back")
    lacking.outcome = SimpleNamespace(outcome="out-of-memory", reason="it does not fit")
    explanation = explain(run)
    document = explanation.to_json()
    (found,) = document["differences"]
    assert (found["stages"], found["rest"]) == ([], None)
    (missing,) = document["missing"]
    assert missing["part"].endswith(", back twice")
    said = on_screen(FORMATS["table"](explanation))
    assert "by stage" not in said
    *_, state = states.failures(explanation)
    assert str(state.text).startswith("tiny lacks")
    assert "There are no stages" not in said


def test_a_model_without_longer_forms_says_so_in_one_line(made_up):
    explanation = explain(made_up(times))
    document = explanation.to_json()
    assert document["lengthened"] == []
    said = "There are no stages: the model has no variant with a longer stage."
    assert said in FORMATS["markdown"](explanation)


def test_a_phase_that_one_of_them_lacks_leaves_all_out(made_up):
    run = made_up(times)
    lacking = next(case for case in run.cases.values() if case.axes.mode == "backward")
    lacking.outcome = SimpleNamespace(outcome="unsupported", reason="there is none")
    document = explain(run).to_json()
    (found,) = document["differences"]
    assert found["phases"] == []
    assert found["difference_ms"]["value"] == pytest.approx(1.5)
    (missing,) = document["missing"]
    assert missing["part"].endswith("up to backward")


def test_what_no_operator_shows_is_named_in_every_format(made_up):
    explanation = explain(made_up(times))
    for render in FORMATS.values():
        assert "linear" in on_screen(render(explanation))
    said = " ".join(on_screen(FORMATS["table"](explanation)).split())
    assert said.startswith(
        "flaky needs 1.5 ms more per step than tiny (1.5 .. 1.5; 6.52 against 5.02 ms): 1 ms more "
        "in linear; 0.5 ms (0.5 .. 0.5) are not attributed"
    )
    assert "the rest (in no measured operator)" in said
    assert "because" not in said


def test_two_sets_make_no_interval_and_no_tables(made_up):
    explanation = explain(made_up(times, sets=2))
    document = explanation.to_json()
    assert document["differences"] == [{"baseline": "tiny", "framework": "flaky", "sets": 2}]
    said = " ".join(on_screen(FORMATS["table"](explanation)).split())
    assert said.startswith(
        "No answer yet on flaky against tiny: 2 of the 3 sets of processes that an answer needs"
    )
    assert "ms" not in said.partition("that an answer needs")[2]
    assert document["left_out"] == ["op:linear/8x256x64", "op:cross_entropy/8x64"]
    (said,) = (str(one.text) for one in states.failures(replace(explanation, status="complete")))
    assert said.startswith("2 operators did not fit the budget")


def test_what_an_interrupted_run_lacks_is_not_for_want_of_budget(made_up):
    run = made_up(times, sets=2)
    interrupted = replace(explain(run), status="interrupted")
    (said,) = (str(one.text) for one in states.failures(interrupted))
    assert said.startswith("interrupted; the same command with --resume")


def test_operators_of_a_resumed_run_are_in_sets_of_their_own(made_up):
    """Parts measured first and parts added later still add up to the difference."""
    run = made_up(times, sets=7)
    for case in run.cases.values():
        own = {"op:linear": range(3), "op:cross": range(3, 7)}.get(case.axes.model[:9].rstrip("_/"))
        if own:
            case.processes = {at: case.processes[at] for at in own}
    (found,) = explain(run).to_json()["differences"]
    assert found["operator_step"]["difference_ms"]["value"] == pytest.approx(1.5)
    parts = [found["empty"], found["residual"], *found["kinds"]]
    total = sum(part["difference_ms"]["value"] for part in parts)
    assert total == pytest.approx(1.5)


def test_a_part_that_one_of_them_lacks_is_in_what_is_left(made_up):
    run = made_up(times)
    lacking = next(
        case
        for case in run.cases.values()
        if case.planned.label == "flaky" and "linear" in case.axes.model
    )
    lacking.processes.clear()
    (found,) = explain(run).to_json()["differences"]
    assert [one["kind"] for one in found["kinds"]] == ["cross_entropy"]
    assert found["only_in_one"] == ["op:linear/8x256x64"]
    assert found["residual"]["difference_ms"]["value"] == pytest.approx(1.5)


def test_identical_frameworks_differ_by_chance_only(made_up):
    """Of 60 runs in which nothing differs, 3 should show some difference, give or take 1.7.

    Each process has a random offset of its own, which all its parts share.
    """
    drawn = np.random.default_rng(7)
    shown = by_phase = by_depth = impossible = 0
    for _ in range(60):
        offsets = {label: drawn.normal(0, 0.02, 5) for label in ("tiny", "flaky")}

        def noisy(label, model, at, offsets=offsets):
            own = offsets[label][at] + drawn.normal(0, 0.02)
            return deep("tiny", model, at) * np.exp(own)

        (found,) = explain(made_up(noisy, model="tiny-deep")).to_json()["differences"]
        parts = [one for one in (found["empty"], found["residual"]) if one] + found["kinds"]
        impossible += bool(found["not_additive"] or found["overlaps"])
        by_phase += any(part["difference_ms"]["shown"] for part in found["phases"])
        stages = [*found["stages"], *([found["rest"]] if found["rest"] else [])]
        by_depth += any(part["difference_ms"]["shown"] for part in stages)
        shown += any(part["difference_ms"]["shown"] for part in parts)
    assert shown <= 7
    assert impossible <= 7
    assert by_phase <= 7
    assert by_depth <= 7


def test_other_runs_say_how_to_measure_a_breakdown(made_up):
    run = made_up(times)
    run.more.clear()
    with pytest.raises(MbenchError, match="made-up has no breakdown of a step"):
        explain(run)
