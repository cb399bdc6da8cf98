"""Statistics of raw values, and what is reported where there are none."""

from __future__ import annotations

import json
from dataclasses import asdict
from statistics import fmean, geometric_mean

import pytest

from mbench import stats
from mbench.engine.outcome import CaseEnded
from mbench.results.folder import EVENTS_FILE
from mbench.results.run import load_run
from mbench.results.summary import analyse
from mbench.spec.adaptive import Adaptive

BATCH, STEPS = 8, 10


def by_label(document):
    return {case["label"]: case for case in document["cases"]}


def test_throughput_is_samples_over_seconds_and_never_the_mean_of_rates(document):
    made = document(seconds={"tiny": [[1.0, 4.0]]})
    (case,) = made["cases"]
    rates = [BATCH * STEPS / 1.0, BATCH * STEPS / 4.0]
    assert case["throughput"]["processes"] == [pytest.approx(2 * BATCH * STEPS / 5.0)]
    assert case["throughput"]["value"] == pytest.approx(32.0)
    assert case["throughput"]["value"] != pytest.approx(fmean(rates))
    assert case["throughput"]["unit"] == "samples/s"


def test_the_centre_of_the_processes_counts_and_the_interval_is_over_them(document):
    seconds = [[1.0, 1.0], [1.25, 1.25], [2.0, 2.0]]
    (case,) = document(seconds={"tiny": seconds})["cases"]
    values = [80.0, 64.0, 40.0]
    interval = stats.geometric_interval(values)
    assert case["throughput"]["processes"] == pytest.approx(values)
    assert case["throughput"]["value"] == pytest.approx(geometric_mean(values))
    assert case["throughput"]["low"] == pytest.approx(interval.low)
    assert case["throughput"]["high"] == pytest.approx(interval.high)
    assert case["processes"] == 3
    assert case["rounds"] == 6


def test_comparisons_name_cases_by_position_whatever_their_numbers_are(write_run):
    folder = write_run(seconds={"tiny": [[1.0, 1.0]], "flaky": [[1.0, 1.0]]})
    file = folder / EVENTS_FILE
    events = [json.loads(line) for line in file.read_text().splitlines()]
    moved = [{**event, "case": event["case"] + 3} if "case" in event else event for event in events]
    file.write_text("".join(json.dumps(event) + "\n" for event in moved))
    made = analyse(load_run(folder)).to_json()
    assert [case["label"] for case in made["cases"]] == ["tiny", "flaky"]
    assert made["comparisons"][0]["cases"] == [0, 1]


def test_one_process_has_no_interval(document):
    (case,) = document(seconds={"tiny": [[1.0, 1.0]]})["cases"]
    assert (case["throughput"]["low"], case["throughput"]["high"]) == (None, None)


def test_step_times_are_means_of_blocks_and_percentiles_of_single_steps(document):
    single = [float(value) for value in range(1, 101)]
    made = document(seconds={"tiny": [[1.0, 3.0]]}, single={"tiny": single}, mode=("inference",))
    times = made["cases"][0]["step_time_ms"]
    assert times["mean"] == pytest.approx(200.0)
    assert times["samples"] == 100
    assert [times[f"p{rank}"] for rank in ("50", "90", "95", "99")] == [50, 90, 95, 99]
    assert times["p99.9"] is None
    assert times["latency_mean"] == pytest.approx(50.5)
    assert made["cases"][0]["throughput"]["value"] == pytest.approx(40.0)


def test_the_first_step_and_memory_are_figures_of_their_own(document):
    (case,) = document(seconds={"tiny": [[1.0], [1.0], [1.0]]})["cases"]
    assert case["first_step_seconds"] == 2.0
    assert case["peak_memory_bytes"] == 2**20 * 100
    assert case["warmup"] == {"steps": 5, "reason": "steady"}
    assert case["differences"] == ["by hand"]


def test_the_first_case_is_the_baseline_of_all_others(document):
    made = document(
        seconds={
            "tiny": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
            "flaky": [[2.0, 2.0], [2.002, 2.0], [2.0, 2.001]],
            "tiny==1.26": [[0.5, 0.5], [0.5, 0.501], [0.5, 0.5]],
        }
    )
    slow, fast, others = made["comparisons"]
    assert [one["against_first"] for one in made["comparisons"]] == [True, True, False]
    assert (others["baseline"], others["framework"], others["cases"]) == ("flaky", "tiny==1.26",
                                                                         [1, 2])  # fmt: skip
    assert (others["ratio"], others["verdict"]) == (pytest.approx(4.0, rel=1e-3), "faster")
    assert (slow["baseline"], slow["framework"], slow["cases"]) == ("tiny", "flaky", [0, 1])
    assert slow["ratio"] == pytest.approx(0.5, rel=1e-3)
    assert (slow["verdict"], slow["process_pairs"]) == ("slower", 3)
    assert slow["low"] < slow["ratio"] < slow["high"]
    assert (fast["baseline"], fast["framework"], fast["verdict"]) == (
        "tiny",
        "tiny==1.26",
        "faster",
    )
    assert fast["ratio"] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("calibrated", [{}, {"tiny": [1.01, 0.99]}, {"flaky": [1.02, 0.98]},
                                        {"tiny": [1.01, 0.99], "flaky": [1.02, 0.98]}])  # fmt: skip
def test_what_calibrations_let_expect_stands_beside_the_verdict(document, calibrated):
    (comparison,) = document(
        seconds={"tiny": [[1.0], [1.1], [1.0]], "flaky": [[1.0], [1.0], [1.0]]},
        calibrated=calibrated,
    )["comparisons"]
    known = stats.known_scatter(list(calibrated.values()))
    assert comparison["detectable"] == (stats.detectable(known, pairs=3) if known else None)


def test_only_rounds_that_both_ran_are_compared(document):
    made = document(
        seconds={"tiny": [[1.0, 1.0], [1.0]], "flaky": [[1.0, 1.0, 99.0], [1.0], [99.0]]}
    )
    (comparison,) = made["comparisons"]
    assert comparison["ratio"] == pytest.approx(1.0)
    assert comparison["process_pairs"] == 2


@pytest.mark.parametrize("outcome", ["oom", "crashed", "timeout", "failed", "not-equal"])
def test_a_case_that_fell_short_is_not_compared_but_keeps_what_it_has(document, outcome):
    made = document(
        seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, ends={"flaky": CaseEnded(outcome, "so it is")}
    )
    case = by_label(made)["flaky"]
    assert (case["outcome"], case["reason"]) == (outcome, "so it is")
    assert by_label(made)["tiny"]["outcome"] == "ok"
    (comparison,) = made["comparisons"]
    assert comparison["verdict"] is comparison["ratio"] is comparison["low"] is None
    assert comparison["reason"] == f"flaky is {outcome}: so it is"
    assert comparison["process_pairs"] == 0


def test_an_unsupported_case_has_no_numbers(document):
    made = document(
        seconds={"tiny": [[1.0]], "flaky": []}, ends={"flaky": CaseEnded("unsupported", "no")}
    )
    case = by_label(made)["flaky"]
    assert case["outcome"] == "unsupported"
    for name in ("throughput", "step_time_ms", "first_step_seconds", "peak_memory_bytes", "warmup"):
        assert case[name] is None
    assert case["version"] is None
    assert made["comparisons"][0]["reason"] == "flaky is unsupported: no"


def test_an_interrupted_run_shows_what_it_has(document):
    made = document(seconds={"tiny": [[1.0]], "flaky": [[]]}, status="interrupted", end=None)
    assert made["status"] == "interrupted"
    cases = by_label(made)
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["flaky"]["outcome"] == "not-measured"
    assert cases["flaky"]["reason"] == "interrupted before its first round"
    assert made["comparisons"][0]["reason"] == "no round was measured for both"


def test_a_complete_run_without_rounds_says_so(document):
    made = document(seconds={"tiny": [[]]})
    assert made["cases"][0]["reason"] == "no rounds"


def test_one_framework_is_compared_with_nothing(document):
    assert document(seconds={"tiny": [[1.0]]})["comparisons"] == []


def test_comparisons_do_not_mix(document):
    made = document(
        seconds={"tiny": [[1.0]], "flaky": [[2.0]]}, batch_size=(8, 16), mode=("train",)
    )
    assert [comparison["cases"] for comparison in made["comparisons"]] == [[0, 1], [2, 3]]
    assert [comparison["batch_size"] for comparison in made["comparisons"]] == [8, 16]
    rates = [case["throughput"]["value"] for case in made["cases"]]
    assert rates == pytest.approx([80, 40, 160, 80])


@pytest.mark.parametrize(
    ("tiny", "flaky", "said"),
    [
        (None, None, "not checked"),
        ("yes", None, "not checked"),
        ("yes", "yes", "proven"),
        ("yes", "shown", "shown in fp32"),
        ("shown", "no", "not proven"),
        ("yes", "no", "not proven"),
        ("no", "no", "not proven"),
    ],
)
def test_comparisons_say_what_is_known_of_equal_work(document, proven, tiny, flaky, said):
    made = {"tiny": tiny, "flaky": flaky}
    proofs = {label: getattr(proven, which) for label, which in made.items() if which}
    seconds = {"tiny": [[1.0]], "flaky": [[1.0]]}
    (comparison,) = document(seconds=seconds, proofs=proofs)["comparisons"]
    assert comparison["equal_work"] == said


@pytest.mark.parametrize(
    ("losses", "alike"),
    [
        ([4.16, 4.16], True),
        ([4.16, 4.16004], True),  # fp32: 1e-5
        ([4.16, 4.1601], False),
        ([4.16, 4.16, 4.16, 5.0], False),
    ],
)
def test_first_losses_as_timed_must_agree_where_work_was_proven_equal(
    document, proven, losses, alike
):
    half = len(losses) // 2
    made = document(
        seconds={"tiny": [[1.0]] * half, "flaky": [[1.0]] * half},
        losses={"tiny": losses[:half], "flaky": losses[half:]},
        proofs={"tiny": proven.yes, "flaky": proven.yes},
    )
    (comparison,) = made["comparisons"]
    assert comparison["equal_work"] == ("proven" if alike else "not proven")
    assert (comparison["verdict"] is not None) is alike
    assert ("first losses as timed lie apart: 4.16 and" in comparison["reason"]) is not alike


def test_the_document_is_strict_json_and_says_what_made_it(document, proven, machine):
    made = document(
        seconds={"tiny": [[1.0], [1.1]], "flaky": []},
        single={"tiny": [1.0] * 5},
        ends={"flaky": CaseEnded("oom", "too large")},
        proofs={"tiny": proven.yes},
        system={"cpu": "X"},
    )
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["schema"] == 1
    assert made["command"] == ["mbench"]
    assert made["system"] == asdict(machine(cpu="X"))
    assert made["protocol"]["processes"] == 5
    assert made["cases"][0]["flops_per_sample"] == 3 * 2 * 256 * 64


def test_work_of_unusual_size_is_marked(document):
    made = document(seconds={"tiny": [[1.0]]}, model=("resnet50",), sizes={"image_size": 96})
    assert made["cases"][0]["standard"] is False
    assert made["cases"][0]["sizes"] == {"image_size": 96}


NOISY = [[1.0, 1.02], [1.03, 1.0], [0.99, 1.0], [1.01, 1.02]]


def test_the_ratio_is_the_quotient_of_the_throughputs_in_the_table(document):
    made = document(seconds={"tiny": NOISY, "flaky": [[0.9, 1.5], [0.8, 0.9], [1.0, 2.0], [1, 1]]})
    tiny, flaky = (case["throughput"]["value"] for case in made["cases"])
    assert made["comparisons"][0]["ratio"] == pytest.approx(flaky / tiny)


def test_stalls_are_said(document):
    """One round of five takes three times as long: in one process by chance, in all by nature."""
    steady, stalling = [[1.0] * 10] * 4, [1.0, 1.0, 3.0, 1.0, 1.0] * 2
    for process in range(4):  # no two alike, or the interval has no width
        steady[process] = [1.0 + 0.001 * process] * 10
    once = {"tiny": steady, "flaky": [stalling, *[[1.0] * 10] * 3]}
    (comparison,) = document(seconds=once)["comparisons"]
    assert comparison["verdict"] == "no difference shown"
    assert comparison["low"] < 5 / 7 < comparison["high"], "pairs scatter, so little is certain"
    (comparison,) = document(seconds={"tiny": steady, "flaky": [stalling] * 4})["comparisons"]
    assert comparison["verdict"] == "depends on stalls"
    assert comparison["ratio"] == pytest.approx(5 / 7, rel=0.01)
    assert comparison["median"] == pytest.approx(1.0, rel=0.01)


def test_two_pairs_have_a_ratio_and_say_what_is_lacking(document):
    (comparison,) = document(seconds={"tiny": NOISY[:2], "flaky": NOISY[2:]})["comparisons"]
    assert comparison["ratio"] == pytest.approx(1.0, abs=0.05)
    assert (comparison["low"], comparison["process_pairs"]) == (None, 2)
    assert comparison["verdict"] == "undetermined"
    assert comparison["undetermined"] == "1 more process pair is needed"


def test_verdicts_of_a_run_hold_together(document):
    """A borderline verdict holds on its own, but not among those of ten batch sizes."""
    seconds = {"tiny": [[1.0], [1.01], [1.0], [1.01]], "flaky": [[1.02], [1.06], [1.03], [1.05]]}
    (alone,) = document(seconds=seconds)["comparisons"]
    assert alone["verdict"] == "slower"
    many = document(seconds=seconds, batch_size=tuple(range(1, 11)))["comparisons"]
    assert len(many) == 10
    for comparison in many:
        assert comparison["high"] == pytest.approx(alone["high"]), "its own interval stays"
        assert comparison["verdict"] == "undetermined"
        assert comparison["undetermined"] == (
            "slower on its own, but not after correction for the 10 verdicts of this run"
        )


def test_an_interval_whose_width_was_waited_for_is_computed_at_a_higher_level(document):
    seconds = {"tiny": NOISY, "flaky": NOISY[::-1]}
    (usual,) = document(seconds=seconds)["comparisons"]
    until = document(seconds=seconds, protocol=Adaptive(half_width_goal=0.02))
    (stopped,) = until["comparisons"]
    assert stopped["high"] > usual["high"]
    cases = document(seconds=seconds)["cases"]
    assert until["cases"][0]["throughput"]["high"] > cases[0]["throughput"]["high"]


def test_what_is_known_of_the_scatter_of_both_makes_the_interval(document):
    seconds = {"tiny": NOISY[:3], "flaky": [[rounds[0]] * 2 for rounds in NOISY[:3]]}
    wide = {label: [0.9, 1.1, 0.85, 1.2, 1.1] for label in seconds}
    alone, one, both = (
        document(seconds=seconds, calibrated=known)["comparisons"][0]
        for known in ({}, {"tiny": wide["tiny"]}, wide)
    )
    assert one["low"] == alone["low"], "one framework tells nothing of the other"
    assert both["low"] < alone["low"]


def test_the_next_step_and_its_price(document):
    seconds = {"tiny": NOISY, "flaky": NOISY[::-1]}
    made = document(seconds=seconds, set_seconds=20.0)
    step = made["comparisons"][0]["next_step"]
    assert step["half_width"] == 0.01
    assert step["options"] == f"--resume {made['run']} --until 1%"
    (comparison,) = document(seconds=seconds)["comparisons"]
    assert comparison["next_step"] is None
