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
SLOWER = {"verdict": "slower", "ratio": 0.8, "low": 0.75, "high": 0.85}


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "tf is 9 % faster than torch (95 % interval: 6 to 12 % faster)"),
        (SLOWER, "tf is 20 % slower than torch (95 % interval: 15 to 25 % slower)"),
        ({"ratio": 2.11, "low": 1.9, "high": 2.3},
         "tf is 2.11 times as fast as torch (95 % interval: 1.9 to 2.3 times)"),
        ({"verdict": "slower", "ratio": 0.47, "low": 0.45, "high": 0.49},
         "tf is 0.47 times as fast as torch (95 % interval: 0.45 to 0.49 times)"),
        ({"ratio": 1.00412, "low": 1.0004, "high": 1.0078},
         "tf is 0.4 % faster than torch (95 % interval: 0.04 to 0.8 % faster)"),
        ({"verdict": "no difference shown", "low": 0.96, "high": 1.14},
         "No difference shown between tf and torch: tf may be up to 4 % slower or 14 % faster"),
        ({"verdict": "no difference shown", "low": 0.692, "high": 2.09},
         "No difference shown between tf and torch: tf may be 0.692 to 2.09 times as fast"),
        ({"verdict": "alike", "low": 0.99, "high": 1.01},
         "tf and torch are alike, within 3 % (95 % interval: up to 1 % slower or 1 % faster)"),
        ({"verdict": "depends on stalls", "median": 1.123},
         "tf against torch depends on stalls: 1.087 by total time, 1.123 by the median round "
         "(95 % interval: 6 to 12 % faster)"),
        (FEW, "No answer yet on tf against torch: 1 more process pair is needed"),
        ({"verdict": None}, "tf against torch: not compared"),
    ],
)  # fmt: skip
def test_sentences(known, said):
    assert str(shown(pair(**known), "torch", "tf", ends=True)) == said


@pytest.mark.parametrize(
    ("metric", "known", "said"),
    [
        (LATENCIES[1], {}, "tf is 9 % faster than torch by latency p50"),
        (JOULES_PER_SAMPLE, SLOWER, "tf is 20 % worse than torch by energy per sample"),
        (JOULES_PER_SAMPLE, {"verdict": "no difference shown", "low": 0.96, "high": 1.14},
         "No difference shown between tf and torch by energy per sample: tf may be up to 4 % "
         "worse or 14 % better"),
    ],
)  # fmt: skip
def test_another_metric_than_throughput_is_named(metric, known, said):
    assert str(shown(pair(**known), "torch", "tf", metric=described(metric))) == said


def entry(label, **axes):
    spec = re.split("[:#]", label)[0]
    return case(label=label, spec=spec, framework=spec, framework_title=spec.title(), device="cpu",
                **axes)  # fmt: skip


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        (entry("torch"), entry("tf", compiler="xla"), "Tf is 9 % faster than Torch"),
        (entry("torch"), entry("torch:inductor", compiler="inductor"),
         "torch:inductor is 9 % faster than torch"),
        (entry("torch"), entry("torch:amp-bf16", precision="amp-bf16"),
         "torch:amp-bf16 is 9 % faster than torch (not the same arithmetic: amp-bf16 against "
         "fp32)"),
        (entry("torch#1"), entry("torch#2"), "torch#2 is 9 % faster than torch#1"),
    ],
)  # fmt: skip
def test_frameworks_have_their_titles_and_anything_else_its_label(base, new, said):
    assert str(sentence(summary_of(base, new), pair())) == said


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
        ({"past": [AGREES]}, "agrees with 1 earlier run here"),
        ({"past": [AGREES, AGREES], "over_runs": OVER},
         "agrees with 2 earlier runs here; all 3 runs 1.02 (0.9 .. 1.15)"),
        ({"past": [FAR]},
         "CONTRADICTED by an earlier run on this machine: 0.95 (0.92 .. 0.98) in "
         "20260102-120000-abcd"),
        ({"past": [AGREES, FAR], "over_runs": OVER},
         "CONTRADICTED by 1 of 2 earlier runs on this machine: 0.95 (0.92 .. 0.98) in "
         "20260102-120000-abcd; all 3 runs 1.02 (0.9 .. 1.15)"),
    ],
)  # fmt: skip
def test_whether_earlier_runs_agree_is_said(known, said):
    assert str(past(pair(**known))) == said


def test_how_frameworks_are_set_up_is_said_once_where_all_are_alike():
    default, tuned, asked = (pair(setup=tier) for tier in ("default", "tuned", None))
    assert setup([default]) == "default settings"
    assert setup([tuned, tuned]) == "tuned settings"
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
        ({**SLOWER, "median": 0.79},
         "ratio 0.8, 95 % interval 0.75 .. 0.85, median of rounds 0.79, 5 process pairs"),
        ({"verdict": "no difference shown", "ratio": 8.102, "low": 0.2975, "high": 220.6,
          "median": 7.9, "process_pairs": 3},
         "ratio 8, 95 % interval 0.3 .. 200, median of rounds 8, 3 process pairs"),
        ({"verdict": None, "reason": "tf is oom: too large"}, "tf is oom: too large"),
        ({"verdict": None, "reason": None}, "the run ended before this comparison"),
    ],
)  # fmt: skip
def test_evidence(known, said):
    assert evidence(pair(**known)) == said


STEP = NextStep(half_width=0.02, process_pairs=13, seconds=540.0, options="--resume R --until 2%")
MORE = NextStep(half_width=None, process_pairs=1, seconds=42.0, options="--resume R")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"verdict": "no difference shown", "next_step": STEP},
         "To narrow it to ±2 %, about 9 min more: mbench compare --resume R --until 2%"),
        ({"verdict": "undetermined", "next_step": MORE},
         "To get an answer, about 42 s more: mbench compare --resume R"),
        ({"verdict": "undetermined", "next_step": STEP, "spoilt_pairs": 3},
         "To get an answer, stop what disturbs the machine, then about 9 min more: "
         "mbench compare --resume R --until 2%"),
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
    ],
)  # fmt: skip
def test_a_disturbance_is_said_with_what_is_left_without_it(known, said):
    assert str(disturbed(pair(**known))) == said


def test_several_verdicts_are_said_to_hold_together():
    alone, few = pair(), pair(**FEW)
    assert together(summary_of(comparisons=[alone, few])) == ""
    assert together(summary_of(comparisons=[alone, few, alone])) == (
        "2 verdicts hold together with 95 % confidence (Holm); each interval holds alone."
    )
