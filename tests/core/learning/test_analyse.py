"""What made-up training runs show: the third layer, steps to the target and time to it."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import pytest

from mbench.learning import page
from mbench.learning.analyse import analyse, crossing, time_to
from mbench.learning.record import Arm, Record
from mbench.learning.report import FORMATS, Trained
from mbench.learning.task import find_task
from mbench.learning.text import headline, notes
from mbench.plugins.manager import Plugins
from mbench.results.training import Evaluation, ExactAnswers, LossPath, SeedRun

TASK = find_task("glyphs", Plugins())
SCATTER = (0.0, 1.0, -1.0, 0.5, -0.5, 0.2, -0.2, 0.8, -0.8, 0.1)


def arm(label):
    return Arm(label=label, framework=label.title(), version="1", precision="fp32",
               compiler="eager", device="cpu", threads=1)  # fmt: skip


def run(label, seed, *, steps, final=0.98, step_seconds=1.0, evaluation_seconds=0.5):
    """A run with evenly rising accuracy: the mean of three evaluations is 95 % after `steps`."""
    rise = 0.95 / steps
    seen = []
    for at in range(1, 31):
        level = 0.98 if at == 30 else min(0.979, rise * (10 * at + 10))
        seen.append(Evaluation(step=10 * at, accuracy=final if at == 30 else level, loss=0.1,
                               seconds=evaluation_seconds))  # fmt: skip
    return label, SeedRun(
        seed=seed, losses=[1.0] * 300, evaluations=seen, step_seconds=[step_seconds] * 30,
        setup_seconds=1.0,
    )  # fmt: skip


def record(*runs, paths=None, answers=None, ended=""):
    whole = answers or {
        label: ExactAnswers(
            case=case, losses=[1.0], changes={"w": [1.0, 0.5]}, logits=[], path=[1.0] * 4
        )
        for case, label in enumerate(("one", "two"))
    }
    made = {label: {run.seed: run for who, run in runs if who == label}
            for label in ("one", "two")}  # fmt: skip
    return Record(
        id="made-up", task=asdict(TASK), task_digest=TASK.digest, data_digest="", seeds=10,
        machine="here", arms=[arm("one"), replace(arm("two"), ended=ended)], answers=whole,
        paths=paths or {}, runs=made,
    )  # fmt: skip


def pairs(other_steps, *, final=0.98, **changes):
    found = []
    for seed, scatter in enumerate(SCATTER):
        found.append(run("one", seed, steps=100 + 3 * scatter))
        found.append(run("two", seed, steps=other_steps + 3 * SCATTER[-1 - seed],
                         final=final + scatter / 1000, **changes))  # fmt: skip
    return found


def pair(found):
    (one,) = analyse(found).pairs
    return one


def test_the_crossing_is_interpolated_between_means_of_evaluations():
    _, one = run("one", 0, steps=100)
    found = crossing(one, asdict(TASK))
    levels = [seen.accuracy for seen in one.evaluations]
    means = [sum(levels[max(0, at - 2) : at + 1]) / len(levels[max(0, at - 2) : at + 1])
             for at in range(30)]  # fmt: skip
    after = next(at for at, mean in enumerate(means) if mean >= 0.95)
    assert one.evaluations[after - 1].step < found <= one.evaluations[after].step
    assert time_to(one, asdict(TASK)) == pytest.approx(found / 10 + 0.5 * (after + 1))
    missed = replace(one, evaluations=[replace(e, accuracy=0.5) for e in one.evaluations])
    assert crossing(missed, asdict(TASK)) == time_to(missed, asdict(TASK)) == math.inf


def test_those_that_are_alike_are_called_so_and_time_is_split_into_steps_and_speed():
    found = record(*pairs(100.5, step_seconds=2.0, evaluation_seconds=1.0))
    one = pair(found)
    assert one.verdict == "learn alike"
    assert one.steps_ratio.value == pytest.approx(1.0, abs=0.02)
    assert one.speed_ratio.value == pytest.approx(2.0)
    assert one.time_ratio.value == pytest.approx(2.0, rel=0.02)
    assert headline(analyse(found))[0].startswith("one and two learn alike within 5 %")


@pytest.mark.parametrize(("runs", "verdict", "reason"), [
    (pairs(130), "do not learn alike", "two takes more steps"),
    (pairs(80), "do not learn alike", "two takes fewer steps"),
    (pairs(100, final=0.955), "do not learn alike", "two ends at a different level"),
    (pairs(105), "not shown", "steps to the target scatter too much"),
    (pairs(100)[:2], "not shown", "at least 2 seeds are needed, but this run has 1"),
    (pairs(5000), "do not learn alike", "10 seeds of two missed the target, 0 of one"),
    ([*pairs(100)[:-1], run("two", 9, steps=5000)], "not shown", "1 of 20 seeds missed the target"),
])  # fmt: skip
def test_verdicts_on_outcomes(runs, verdict, reason):
    one = pair(record(*runs))
    assert one.verdict == verdict
    assert one.reason.startswith(reason)
    assert verdict in headline(analyse(record(*runs)))[0].replace("Not", "not")


def test_misses_count_as_infinite():
    (_, other) = analyse(record(*pairs(5000))).arms
    assert other.steps_to_target.infinite == 10
    assert other.time_to_target.median is None
    missed = record(*pairs(5000))
    text = FORMATS["markdown"](Trained(found=analyse(missed), record=missed))
    assert "10 of 10" in text
    assert "infinite" in text


def test_other_steps_in_float64_are_another_training_whatever_they_reach():
    answers = {
        "one": steps_of(0.5),
        "two": steps_of(0.6, case=1, rounding=1e-13),
    }
    found = record(*pairs(100), answers=answers)
    one = pair(found)
    assert one.verdict == "not the same training"
    assert "two does not take the task's steps: in float64 it is off by 1.0e-01 (w)" in one.reason
    assert not analyse(found).ok


def steps_of(change, *, case=0, rounding=0.0):
    return ExactAnswers(case=case, losses=[1.0], changes={"w": [1.0, change]}, logits=[],
                        path=[1.0], rounding=rounding)  # fmt: skip


def test_where_rounding_decides_no_framework_is_accused():
    """At a learning rate so large that training is chaotic, honest frameworks may end anywhere."""
    answers = {"one": steps_of(0.5), "two": steps_of(0.6, case=1, rounding=0.02)}
    summary = analyse(record(*pairs(100), answers=answers))
    assert summary.arms[1].exact_holds is None
    assert summary.pairs[0].verdict == "learn alike", "by what they reach, which is all that shows"
    assert summary.ok
    (said,) = [note for note in notes(summary) if note.startswith("rounding decides")]
    assert "steps of two by up to 2e-02" in said
    assert "a lower learning_rate" in said


def test_a_path_that_rounding_does_not_explain_is_another_training():
    calm = [[1.0 + 1e-6] * 4]
    off = [1.0, 1.0, 1.1, 1.0]
    paths = {
        "one": LossPath(losses=[1.0] * 4, nudged=calm),
        "two": LossPath(losses=off, nudged=[off]),
    }
    one = pair(record(*pairs(100), paths=paths))
    assert one.verdict == "not the same training"
    assert "two leaves the path at step 3" in one.reason


def test_seeds_that_were_added_are_told():
    once, again = record(*pairs(100)), replace(record(*pairs(100)), seeds_at_first=5)
    assert not any("sought again" in text for text in notes(analyse(once)))
    assert any("began with 5 seeds" in text for text in notes(analyse(again)))


def test_an_arm_that_ended_is_told():
    found = analyse(record(ended="oom: no memory"))
    assert not found.ok
    assert found.arms[1].ended == "oom: no memory"
    assert "at least 2 seeds are needed, but this run has 0" in headline(found)[0]


def test_the_plot_of_first_steps_has_the_path_and_the_bound_of_the_verdict(monkeypatch):
    """The first framework strays from the stored answers, so the second one's path is right."""
    curves = {}
    monkeypatch.setattr(page, "plot", lambda title, x_name, made: curves.update(
        {name: [y for _, y in points] for points, _, name, _ in made}
    ))  # fmt: skip
    paths = {label: LossPath(losses=[loss] * 4, nudged=[[loss] * 4])
             for label, loss in (("one", 1.1), ("two", 1.0))}  # fmt: skip
    answers = {
        label: ExactAnswers(case=case, losses=[1.0], changes={}, logits=[], path=[path] * 4)
        for case, (label, path) in enumerate((("one", 1.1), ("two", 1.0)))
    }
    trained = record(*pairs(100), paths=paths, answers=answers)
    trained = replace(trained, arms=[replace(arm, precision="bf16") for arm in trained.arms])
    page.departures(replace(analyse(trained), path_reference="two"), trained)
    assert curves["one"] == pytest.approx([-1.0] * 4)
    assert curves["two"] == [-9.0] * 4, "exactly on the path, as far as the plot shows"
    assert curves["envelope"] == pytest.approx([math.log10(16 * 2.0**-7)] * 4)
