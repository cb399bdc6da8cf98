"""Results of timed processes are compared with each other, and with what rounding may explain."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cases import GATES
from evidenced import LEVELS, SLOPE, honest, losses, make_process, make_record, said

from mbench.measure.rounding import entries_to_explain
from mbench.results import events
from mbench.results.evidence import Earlier
from mbench.results.validity import unlikeness


def test_honest_losses_agree_wherever_their_blocks_end():
    """A slow framework and a fast one, whose losses do not drift quite linearly."""
    slow = make_record(make_process(losses=losses(range(6, 60, 3))))
    fast = make_record(
        make_process(losses=losses(range(50, 900, 37), lambda s: honest(s, bend=1e-9)))
    )
    assert said(slow, fast) == said(fast, slow) == said(slow) == said(fast) == []


@pytest.mark.parametrize(
    "lie",
    [
        lambda step: honest(min(step, 40)),  # nothing is done after 40 steps
        lambda step: LEVELS[(step - 1) % 8] + SLOPE * 10 * min(step, 40),  # only forward passes
        lambda step: LEVELS[(step - 1) % 8] + SLOPE * 5 * step,  # every second update
        lambda step: honest(step) + 5e-2,  # other samples
        lambda step: honest(step + 1),  # another batch
    ],
)
def test_losses_of_other_work_are_told(lie):
    steps = range(50, 900, 37)
    good = make_record(make_process(losses=losses(steps)))
    bad = make_record(make_process(losses=losses(steps, lie)), label="flaky")
    (text,) = said(good, bad)
    assert text.startswith("flaky: loss of batch ")
    assert "as timed, off by" in text


def mixer(step, batch, *, lost=1.0, scatter=True):
    """The loss of an MLP mixer with 10 classes: batches drift by 0.04 to 2.1 times one slope."""
    own = 0.04 + 0.3 * batch if scatter else 1.0
    return 2.1 + 0.02 * batch - 3e-6 * own * 10 * (step if step < 40 else 40 + lost * (step - 40))


def of_mixer(steps, **how):
    return [(step, mixer(step, (step - 1) % 8, **how)) for step in steps]


def test_batches_that_drift_by_slopes_of_their_own_are_honest():
    """With torch.compile steps were fewer, and one slope for all batches predicted wrong losses."""
    slow = make_record(make_process(losses=of_mixer(range(15, 112, 3))))
    fast = make_record(make_process(losses=of_mixer(range(60, 400, 13))))
    assert said(slow, fast) == said(fast, slow) == []
    once = make_record(make_process(losses=of_mixer([*range(60, 160, 9), 203])))
    assert said(slow, once) == said(once, slow) == []


@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_steps_that_do_less_are_told_whatever_the_slopes_of_batches(lost):
    slow = make_record(make_process(losses=of_mixer(range(15, 112, 3))))
    lazy = make_record(make_process(losses=of_mixer(range(60, 400, 13), lost=lost)))
    assert said(slow, lazy), "slopes of batches hide what is left out"


def test_losses_of_the_same_step_on_the_same_data_need_no_drift_to_be_compared():
    steps = range(50, 900, 37)
    good = make_record(make_process(losses=losses(steps)))
    for off, told in ((1e-5, 0), (1e-2, 1)):
        found = [(step, loss + off) for step, loss in losses(steps)]
        bad = make_record(make_process(losses=found), label="flaky")
        assert len(said(good, bad)) == told
    assert re.search(r"off by 0\.0\d+ \(gate \d\.\de-05\)", said(good, bad)[0]), said(good, bad)


def test_losses_of_earlier_steps_of_a_block_count_too():
    def record(off):
        process = make_process(losses=losses([50]))
        block, last = process.evidence[0]
        earlier = [
            Earlier(step=50 - at, due=500.0 - 10 * at, batch=1000 + at, loss=4.0 + off, outputs={})
            for at in (1, 2)
        ]
        process.evidence[0] = block, replace(last, earlier=earlier)
        return make_record(process, label="flaky" if off else "tiny")

    assert said(record(0.0), record(1e-6)) == []
    (text,) = said(record(0.0), record(0.1))
    assert text.startswith("flaky: loss of batch 1002 after 48 steps")


def test_one_wrong_round_is_told_without_another_framework():
    found = losses(range(50, 900, 37))
    found[9] = (found[9][0], found[9][1] + 0.1)
    (text,) = said(make_record(make_process(losses=found)))
    assert f"after {found[9][0]} steps" in text
    assert text.endswith("on its own")


def test_cases_of_two_precisions_are_held_together_by_the_wider_gates():
    coarse = replace(GATES, answers=1e-2, norm=None)
    exact = make_record(make_process(losses=[(9, honest(9))], changes=[(16, (1.0, 1.0))]))
    rough = make_record(
        make_process(losses=[(9, honest(9) + 0.01)], changes=[(16, (2.0, 1.0))]), gates=coarse
    )
    assert said(exact, rough) == said(rough, exact) == []
    assert GATES.wider(coarse) == coarse.wider(GATES) == coarse


def test_losses_farther_on_than_any_drift_that_was_seen_are_not_judged():
    one = make_record(make_process(losses=[(9, honest(9)), (18, honest(18))]))
    later = make_record(make_process(losses=[(809, honest(809)), (826, honest(826))]))
    assert said(one, later) == []


@pytest.mark.parametrize(("share", "told"), [(1.0, 0), (0.8, 0), (0.0, 1)])
def test_where_each_batch_was_met_once_the_first_loss_tells_the_drift(share, told):
    """Honest losses differ by a part of the drift: ShuffleNet's in fp32 by 3e-4 after 27 steps."""
    first, step = LEVELS[0], 25
    one, other = (
        make_record(make_process(losses=[(at, loss)], first_loss=first))
        for at, loss in (
            (step, honest(step)),
            (step + 8, first + share * (honest(step + 8) - first)),
        )
    )
    assert len(said(one, other)) == told


def test_where_nothing_tells_the_drift_no_loss_is_judged():
    one, other = (
        make_record(make_process(losses=[(28 + steps, honest(28) + more)]))
        for steps, more in ((0, 0), (8, 1e-3))
    )
    assert said(one, other) == []


def test_a_batch_that_the_other_did_not_end_on_is_not_judged():
    one = make_record(make_process(losses=[(1, 4.0)]))
    other = make_record(make_process(losses=[(2, 9.0)]))
    assert said(one, other) == []


def test_outputs_of_a_batch_are_the_same_in_every_round_process_and_framework():
    sketches = {batch: tuple(float(batch + at + 1) for at in range(6)) for batch in range(8)}
    steps = [(step, None) for step in range(5, 90, 7)]
    right = [sketches[(step - 1) % 8] for step, _ in steps]
    good = make_record(make_process(losses=steps, outputs=right), make_process(1, losses=steps, outputs=right))  # fmt: skip  # noqa: E501
    assert said(good) == said(good, good) == []
    kept = make_record(make_process(losses=steps, outputs=[right[0]] * len(steps)), label="flaky")
    assert said(kept) == [], "it agrees with itself by batch only where each batch came twice"
    (text,) = said(good, kept)
    assert text.startswith("flaky: output logits of batch ")


WEIGHT = (3.0, 1.0, -1.0, 2.0, 0.5, 1.5)


def grown(factor, sketch=WEIGHT):
    return tuple(factor * value for value in sketch)


@pytest.mark.parametrize(
    ("sketch", "what"),
    [
        (grown(0.56), "updates, by norm, after 16 timed steps off by 0.44"),
        (grown(0.0), "updates, by norm, after 16 timed steps off by 1"),
        ((3.0, 1.0, -1.0, 2.0, 0.5, -1.5), "updates, by direction, after 16 timed steps off by 1"),
    ],
)
def test_updates_are_compared_after_the_same_steps(sketch, what):
    good = make_record(make_process(changes=[(16, WEIGHT)]))
    bad = make_record(make_process(changes=[(16, sketch)]), label="flaky")
    assert f"flaky: {what}" in said(good, bad)
    assert said(good, make_record(make_process(changes=[(20, sketch)]))) == []


@pytest.mark.parametrize(("factor", "told"), [(1.03, False), (0.97, False), (1.05, True)])
def test_gates_of_few_steps_are_wider(factor, told):
    one, other = (make_record(make_process(changes=[(4, grown(f))])) for f in (1.0, factor))
    assert bool(said(one, other)) is told
    late = [make_record(make_process(changes=[(16, grown(f))])) for f in (1.0, factor)]
    assert said(*late)


@pytest.mark.parametrize(("step", "skipped", "told"), [(16, 1, 0), (16, 2, 1), (1000, 3, 0)])
def test_steps_that_update_nothing_are_told_unless_a_loss_scale_has_few(step, skipped, told):
    process = make_process(changes=[(step, WEIGHT)])
    process.changes = [replace(process.changes[0], skipped=skipped)]
    found = [one for one in said(make_record(process)) if "made no update" in one]
    assert len(found) == told
    if told:
        assert "2 of 16 timed steps made no update, as scaled gradients overflowed" in found[0]


def test_a_skipped_step_carries_nothing():
    """15 of 16 steps go 15 sixteenths of the way, in a direction that is within the gate."""
    whole = make_record(make_process(changes=[(16, WEIGHT)]))
    less = make_process(changes=[(16, grown(15 / 16))])
    assert said(whole, make_record(less)) != []
    less.changes = [replace(less.changes[0], skipped=1, due=15 / 16 * less.changes[0].due)]
    assert said(whole, make_record(less)) == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_who_lies_apart_is_asked_whoever_of_both_started_first(order):
    """The difference is too large relative to the baseline, but not relative to the other one."""
    records = [make_record(make_process(changes=[(16, grown(f))])) for f in (1.0, 1.0202)]
    assert said(*records)
    assert not said(*reversed(records))
    run = SimpleNamespace(cases=dict(enumerate(records)))
    entries = [SimpleNamespace(number=n, case=records[n].axes) for n in order]
    assert {one.number for one in entries_to_explain(run, entries)} == {0, 1}


def by_orders(*orders):
    """Cases that follow the gradients of eight batches, which are orthogonal to each other."""
    found = []
    for order in orders:
        counts = np.bincount(order, minlength=8)
        values = tuple(map(float, counts[:5] * np.sqrt(8 / 5)))
        sketch = (float(np.linalg.norm(counts)), *values)
        process = make_process(changes=[(len(order), sketch)])
        process.changes = [replace(process.changes[0], statistics={"mean": grown(order[-1] + 1.0)})]
        found.append(make_record(process))
    return found


def windows(length, blocks):
    """The batch of each step: sixteen in turn, then blocks that end on one batch after another."""
    begun = [step % 8 for step in range(16)]
    return begun + [
        (end - length + 1 + at) % 8 for end in range(blocks) for at in range(length)
    ]  # fmt: skip


@pytest.mark.parametrize("length", [1, 2, 3, 4, 6])
def test_honest_processes_whose_blocks_are_of_other_lengths_agree(length):
    one, other = by_orders(windows(length, 12 // length), windows(12, 1))
    assert said(one, other) == said(other, one) == []


def test_many_steps_on_few_batches_are_told():
    found = said(*by_orders(windows(8, 10), [step % 4 for step in range(96)]))
    assert any("updates, by direction, after 96 timed steps off by" in text for text in found)


def with_stage(factor, **gates):
    """A case whose last stage makes a thousandth of all changes, times `factor`."""
    process = make_process(changes=[(16, WEIGHT)])
    stage = {f"stage.{name}.weight": grown(factor * 1e-3) for name in "abc"}
    process.changes = [
        replace(change, parameters={**change.parameters, **stage}) for change in process.changes
    ]
    return make_record(process, label="flaky", gates=replace(GATES, **gates))


def test_a_small_part_that_stands_still_is_told():
    (found,) = said(with_stage(1.0), with_stage(0.0))
    assert found == (
        "flaky: stage stands still: 3 of its tensors should have moved in 16 timed steps"
    )
    assert said(with_stage(0.0), with_stage(1.0)) == []
    blind = {"norm": None, "direction": None}
    assert said(with_stage(1.0, **blind), with_stage(0.0, **blind)) == []


@pytest.mark.parametrize(("factor", "told"), [(1.0, 0), (0.85, 0), (1.15, 0), (0.7, 1), (0.0, 1)])
def test_a_tensor_that_makes_a_share_of_all_updates_moves_by_as_much(factor, told):
    """As where masks are drawn: the tensor's share is too small to show in the norm of all."""

    def made(of_positions, of_bias):
        process = make_process(changes=[(16, WEIGHT)])
        others = {"positions": grown(of_positions * 0.05), "bias": grown(of_bias * 0.01)}
        process.changes = [
            replace(change, parameters={**change.parameters, **others})
            for change in process.changes
        ]
        gates = replace(GATES, norm=0.2, tensor=0.2, direction=None)
        return make_record(process, label="flaky", gates=gates)

    found = said(made(1.0, 1.0), made(factor, 0.1))
    off = f"{abs(1 - factor):.2g}"
    assert found == [f"flaky: updates of positions after 16 timed steps off by {off}"] * told


def rounded(record, **far):
    """The record of a case that rounding carries as far as `far` says."""
    least = dict.fromkeys(("answers", "norm", "tensor", "direction", "statistics"), 0.0)
    record.nudges = [events.Rounding(case=0, **{**least, **far})]
    return record


def apart(loss=0.0, norm=0.0, label="flaky"):
    """A case whose losses and changes are larger by these fractions."""
    process = make_process(
        losses=losses(range(50, 900, 17), lambda step: honest(step) * (1 + loss)),
        changes=[(4, grown(1 + norm)), (16, grown(1 + norm))],
    )
    return make_record(process, label=label)


def test_what_rounding_explains_of_both_is_no_doubt():
    one, other = apart(label="tiny"), apart(loss=3e-3, norm=0.2)
    assert len(said(one, other)) > 1
    far = {"answers": 1e-3, "norm": 0.1, "direction": 0.1}
    assert said(rounded(one, **far), rounded(other, **far)) == []
    assert unlikeness(one, other)[1] == []


def test_the_lesser_rounding_counts():
    """No case gains by more rounding than the other's, or if only that of one case is known."""
    one, other = apart(label="tiny"), apart(norm=0.2)
    before = said(one, other)
    assert before
    assert said(one, rounded(other, norm=0.1, direction=0.1)) == before
    assert said(rounded(one), other) == before
    assert said(rounded(one, norm=0.1, direction=0.1), other) == []


def test_where_rounding_hides_all_nothing_shows():
    one, other = (rounded(apart(norm=norm), norm=0.9, direction=0.9) for norm in (0.0, 1.5))
    assert said(one, other) == []
    said_first = unlikeness(one, other)[1][0]
    assert said_first.startswith("flaky: updates, by norm, after 4 timed steps off by 1.5: round")
    assert "use larger batches" in said_first


@pytest.mark.parametrize(("direction", "hides"), [(1.2, True), (0.7, False), (0.1, False)])
def test_where_rounding_leaves_no_direction_sizes_are_alike_by_chance(direction, hides):
    """Two changes never differ more in size than they lie apart, so sizes may agree by luck."""
    pair = [rounded(apart(norm=norm), norm=0.02, direction=direction) for norm in (0.0, 0.86)]
    assert bool(unlikeness(*pair)[1]) == hides
    assert bool(said(*pair)) != hides


def test_other_work_shows_beside_some_rounding():
    one, other = (rounded(apart(norm=norm), norm=0.1) for norm in (0.0, -0.5))
    (text,) = [text for text in said(one, other) if "norm" in text]
    assert "off by 0.5" in text
    assert unlikeness(one, other)[1] == []


def test_where_updates_do_not_show_they_are_not_judged():
    blind = replace(GATES, answers=0.1, norm=None, direction=None, statistics=None, growth=None)
    still = [make_record(make_process(changes=[(16, grown(f)), (320, grown(f))]), gates=blind)
             for f in (0.0, 1.0)]  # fmt: skip
    assert said(*still) == said(still[1]) == []
