"""Estimates of how long a comparison takes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.experiments import asked

from mbench.console import span
from mbench.measure import estimate as estimating
from mbench.measure.estimate import estimate
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan
from mbench.spec.presets import PRESETS


@pytest.fixture
def comparison(plugins):
    sweep = asked(frameworks=("tiny", "flaky"), wanted={"model": ("tiny-model",)})
    return plan(sweep, plugins)[0]


def test_the_adaptive_protocol_takes_its_budget_at_most(comparison):
    made = estimate(comparison, Adaptive(budget_seconds=240), step_seconds={})
    assert made == (240, "at most 4 min")


def test_counted_steps_take_their_time_where_it_is_known(comparison):
    seconds, words = estimate(comparison, PRESETS["dlperf"], step_seconds={0: 0.5, 1: 1.0})
    assert seconds == 7 * (120 * 0.5 + 120 * 1.0)
    assert words == "about 21 min, plus the start of 14 workers"


def test_what_no_run_tells_is_unknown(comparison):
    seconds, words = estimate(comparison, PRESETS["dlperf"], step_seconds={0: 0.5})
    assert seconds is None
    assert words.startswith("unknown")


def test_a_duration_bounds_it(comparison):
    protocol = replace(PRESETS["superbench"], duration_seconds=60.0)
    assert estimate(comparison, protocol, step_seconds={})[0] == 120
    known = estimate(comparison, protocol, step_seconds={0: 1e-3, 1: 1e-3})[0]
    assert known == pytest.approx(2 * (64 + 2048) * 1e-3)


def test_what_is_unsupported_takes_no_time(plugins):
    sweep = asked(frameworks=("tiny",), wanted={"model": ("tiny-model",), "precision": ("fp16",)})
    (comparison,) = plan(sweep, plugins)
    assert estimate(comparison, PRESETS["dlperf"], step_seconds={}) == (0.0, "nothing to measure")


def test_sets_that_are_made_in_any_case_take_what_they_took_before(
    comparison, tmp_path, monkeypatch
):
    protocol = Adaptive(processes=3, fewest_processes=3, budget_seconds=120)
    for took, said in ((None, "about 2 min"), (30.0, "about 2 min"), (60.0, "about 3 min")):
        monkeypatch.setattr(estimating, "past_set_seconds", lambda *_, took=took: took)
        checked = SimpleNamespace(
            experiment=SimpleNamespace(protocol=protocol), comparisons=[comparison], further={}
        )
        (one,) = estimating.foreseen(checked, tmp_path)
        assert (one.seconds, one.words) == (max(120, 3 * (took or 0)), said)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (99, "99 s"), (100, "2 min"), (5400, "90 min"),
                          (6000, "1 h 40 min")]
)  # fmt: skip
def test_a_span_is_said_as_people_say_it(seconds, said):
    assert span(seconds) == said
