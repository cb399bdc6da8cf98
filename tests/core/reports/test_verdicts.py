"""Verdicts in words."""

from __future__ import annotations

import re

import pytest
from summaries import case, pair, summary_of

from mbench.contract.metric import JOULES_PER_SAMPLE, LATENCIES
from mbench.reports.verdicts import (
    disturbed,
    evidence,
    further,
    noise_note,
    past,
    sentence,
    setup,
    shown,
    together,
)
from mbench.results.metrics import described
from mbench.results.pair_summary import RatioInterval
from mbench.results.replication import EarlierRatio, NextStep, RatioOverRuns

FEW = {"low": None, "high": None, "process_pairs": 2, "verdict": "undetermined",
       "undetermined": "1 more process pair is needed"}  # fmt: skip


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "tf is 1.09 times as fast as torch"),
        ({"verdict": "slower", "ratio": 0.8}, "torch is 1.25 times as fast as tf"),
        ({"verdict": "no difference shown", "low": 0.96, "high": 1.14},
         "tf against torch: no difference shown, tf may be up to 4 % slower or 14 % faster"),
        ({"verdict": "alike"}, "tf against torch: alike within 3 %"),
        ({"verdict": "depends on stalls", "median": 1.123},
         "tf against torch: depends on stalls, median 1.123, total 1.087"),
        (FEW, "tf against torch: undetermined, 1 more process pair is needed"),
        ({"verdict": None}, "tf against torch: not compared"),
    ],
)  # fmt: skip
def test_sentences(known, said):
    assert str(shown(pair(**known), "torch", "tf")) == said


@pytest.mark.parametrize(
    ("metric", "known", "said"),
    [
        (LATENCIES[1], {}, "tf is 1.09 times as fast as torch by latency p50"),
        (JOULES_PER_SAMPLE, {"verdict": "slower", "ratio": 0.8},
         "torch is 1.25 times as good as tf by energy of a sample"),
        (JOULES_PER_SAMPLE, {"verdict": "no difference shown", "low": 0.96, "high": 1.14},
         "tf against torch by energy of a sample: no difference shown, tf may be up to 4 % worse "
         "or 14 % better"),
    ],
)  # fmt: skip
def test_another_metric_than_throughput_is_named(metric, known, said):
    assert str(shown(pair(**known), "torch", "tf", metric=described(metric))) == said


def entry(label, **axes):
    return case(label=label, spec=re.split("[:#]", label)[0], device="cpu", **axes)


TORCH = entry("torch")


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        (TORCH, entry("tf", compiler="xla"), "tf (xla) is 1.09 times as fast as torch (eager)"),
        (TORCH, entry("torch:inductor", compiler="inductor"),
         "torch with inductor is 1.09 times as fast as torch with eager"),
        (TORCH, entry("tf:threads=2", threads=2, variables={"A": "1"}, compiler="graph"),
         "tf with graph and threads 2 and A=1 is 1.09 times as fast as torch with eager and "
         "threads 1"),
        (TORCH, entry("torch:amp-bf16:inductor", precision="amp-bf16", compiler="inductor"),
         "torch in amp-bf16 with inductor is 1.09 times as fast as torch in fp32 with eager "
         "(not the same arithmetic: amp-bf16 against fp32)"),
        (entry("torch:A=1#1", variables={"A": "1"}), entry("torch:A=1#2", variables={"A": "1"}),
         "torch:A=1#2 (eager) is 1.09 times as fast as torch:A=1#1 (eager)"),
    ],
)  # fmt: skip
def test_a_sentence_names_the_settings_that_differ(base, new, said):
    assert str(sentence(summary_of(base, new), pair())) == said


FIRST = "each as its documentation shows first"


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, f"tf (eager) is 1.09 times (1.06 .. 1.115) as fast as torch (eager), {FIRST}"),
        ({"verdict": "slower", "ratio": 0.8, "low": 0.75, "high": 0.85},
         f"torch (eager) is 1.25 times (1.176 .. 1.333) as fast as tf (eager), {FIRST}"),
        ({"verdict": "alike", "low": 0.99, "high": 1.01},
         f"tf (eager) against torch (eager), {FIRST}: alike within 3 % (0.99 .. 1.01)"),
        (FEW, f"tf (eager) against torch (eager), {FIRST}: undetermined, 1 more process pair is "
              "needed"),
        ({"setup": None}, "tf (eager) is 1.09 times (1.06 .. 1.115) as fast as torch (eager)"),
    ],
)  # fmt: skip
def test_how_both_are_set_up_stands_behind_their_names_and_the_interval_behind_its_number(
    known, said
):
    made = pair(**{"setup": "default", **known})
    assert str(sentence(summary_of(TORCH, entry("tf")), made, ends=True)) == said


def then(ratio, low, high, *, contradicts=False, day=1):
    return EarlierRatio(run=f"2026010{day}-120000-abcd", started=f"2026-01-0{day}T12:00:00+00:00",
                        ratio=ratio, low=low, high=high, process_pairs=5,
                        contradicts=contradicts)  # fmt: skip


AGREES = then(1.07, 1.04, 1.1)
FAR = then(0.95, 0.92, 0.98, contradicts=True, day=2)
OVER = RatioOverRuns(ratio=1.02, low=0.9, high=1.15, runs=3)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, ""),
        ({"past": [AGREES]}, "as in 1 earlier run here"),
        ({"past": [AGREES, AGREES], "over_runs": OVER},
         "as in 2 earlier runs here; all 3 runs 1.02 (0.9 .. 1.15)"),
        ({"past": [FAR]},
         "CONTRADICTED by an earlier run here: 0.95 (0.92 .. 0.98), 20260102-120000-abcd"),
        ({"past": [AGREES, FAR], "over_runs": OVER},
         "CONTRADICTED by 1 of 2 earlier runs here: 0.95 (0.92 .. 0.98), 20260102-120000-abcd; "
         "all 3 runs 1.02 (0.9 .. 1.15)"),
        ({"past": [FAR], "verdict": "slower", "ratio": 0.8, "low": 0.75, "high": 0.85},
         "CONTRADICTED by an earlier run here: 1.053 (1.02 .. 1.087), 20260102-120000-abcd"),
    ],
)  # fmt: skip
def test_whether_earlier_runs_agree_is_said_in_the_direction_of_the_sentence(known, said):
    assert past(pair(**known)) == said


def test_how_frameworks_are_set_up_is_said_once_where_all_are_alike():
    default, tuned, asked = (pair(setup=tier) for tier in ("default", "tuned", None))
    assert setup([default]) == "each runs as its documentation shows first"
    assert setup([tuned, tuned]) == "each runs as its guide to performance advises"
    assert setup([default, tuned]) == setup([default, asked]) == setup([]) == ""


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "ratio 1.087, 95 % interval 1.06 .. 1.115, median of rounds 1.09, 5 process pairs"),
        ({"process_pairs": 20, "far_off": 2, "reason": "budget of 60 s spent"},
         "ratio 1.087, 95 % interval 1.06 .. 1.115, median of rounds 1.09, 20 process pairs, "
         "2 of them far off; budget of 60 s spent"),
        (FEW, "ratio 1.087, median of rounds 1.09, 2 process pairs"),
        ({**FEW, "process_pairs": 1}, "ratio 1.087, median of rounds 1.09, 1 process pair"),
        ({**FEW, "process_pairs": 0}, "ratio 1.087"),
        ({"verdict": "slower", "ratio": 0.8, "low": 0.75, "high": 0.85, "median": 0.79},
         "ratio 1.25, 95 % interval 1.176 .. 1.333, median of rounds 1.266, 5 process pairs"),
        ({"verdict": "no difference shown", "ratio": 8.102, "low": 0.2975, "high": 220.6,
          "median": 7.9, "process_pairs": 3},
         "ratio 8, 95 % interval 0.3 .. 200, median of rounds 8, 3 process pairs"),
        ({"verdict": None, "reason": "tf is oom: too large"}, "tf is oom: too large"),
        ({"verdict": None, "reason": None}, "the run did not get so far"),
    ],
)  # fmt: skip
def test_evidence(known, said):
    assert evidence(pair(**known)) == said


STEP = NextStep(half_width=0.02, seconds=540.0, options="--until 2% --budget 600")
MORE = NextStep(half_width=None, seconds=42.0, options="--processes 3 --budget 60")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"verdict": "no difference shown", "next_step": STEP},
         "±2 % would take about 9 min: --until 2% --budget 600"),
        ({"verdict": "undetermined", "next_step": MORE},
         "a verdict would take about 42 s: --processes 3 --budget 60"),
        ({"verdict": "no difference shown"}, ""),
        ({"next_step": STEP}, ""),
    ],
)  # fmt: skip
def test_what_it_would_take_to_know_more(known, said):
    assert further(pair(**known)) == said


def test_what_can_be_found_stands_beside_it_where_that_is_known():
    assert noise_note(pair()) == ""
    assert noise_note(pair(detectable=0.0414)) == (
        "smallest difference detectable with this many pairs: 4.1 %"
    )


def calm(ratio, low, high):
    return RatioInterval(ratio=ratio, low=low, high=high, process_pairs=3)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"disturbances": []}, ""),
        ({"disturbances": ["tf: a load"], "undisturbed": None}, "DISTURBED"),
        ({"disturbances": ["tf: a load"],
          "undisturbed": calm(1.05, 1.02, 1.08)},
         "DISTURBED, without those rounds 1.05 (1.02 .. 1.08)"),
        ({"disturbances": ["tf: a load"],
          "undisturbed": calm(1.05, None, None)},
         "DISTURBED, without those rounds 1.05 (no interval)"),
        ({"disturbances": ["tf: a load"], "verdict": "slower", "ratio": 0.8,
          "undisturbed": calm(0.8, 0.75, 0.85)},
         "DISTURBED, without those rounds 1.25 (1.176 .. 1.333)"),
    ],
)  # fmt: skip
def test_a_disturbance_is_said_with_what_is_left_without_it(known, said):
    assert str(disturbed(pair(**known))) == said


def test_several_verdicts_are_said_to_hold_together():
    alone, few = pair(), pair(**FEW)
    assert together(summary_of(comparisons=[alone, few])) == ""
    assert together(summary_of(comparisons=[alone, few, alone])) == (
        "2 verdicts, which hold together with 95 % (Holm); each interval by itself"
    )
