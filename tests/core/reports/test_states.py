"""Whether an answer can be believed, in a line for each reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from summaries import case, disturbed, pair, summary_of, with_case, with_pair

from mbench.machine.neighbours import Neighbour
from mbench.reports.remarks import remarks
from mbench.reports.states import FAILED, OK, WARNING, states
from mbench.results.case_summary import INTERRUPTED
from mbench.results.facts import AbsenceRecord
from mbench.results.pair_summary import RatioInterval
from mbench.results.replication import EarlierRatio
from mbench.results.run import EXPLAIN
from mbench.spec.adaptive import Adaptive

LOAD = disturbed("other programs used {:.1f} of 2 cores", 0.9, share=0.83)
CALM = RatioInterval(ratio=1.12, low=1.08, high=1.16, process_pairs=5)


def found(summary):
    """title -> (level, text) of a summary's states; the first one if several have a title."""
    known = {}
    for state in states(summary, remarks(summary)):
        known.setdefault(state.title, (state.level, str(state.text)))
    return known


def two(**given):
    cases = [case(label=label, device="cpu", processes=5) for label in ("torch", "tf")]
    return summary_of(*cases, comparisons=[pair(**given)])


def test_another_mbench_is_named():
    others = [Neighbour(pid=number, since="2026-01-02T15:04:00+00:00") for number in (41, 42)]
    assert found(replace(two(), other_mbench=others))["other mbench"] == (
        WARNING,
        "process 41 and 1 more measured at the same time: measure again, one after the other",
    )


def test_pauses_are_named_with_what_came_of_them():
    def said(*absences):
        return found(replace(two(), absences=list(absences)))["pauses"]

    idle = AbsenceRecord(ended="then", seconds=8.04, what="mbench")
    in_block = replace(idle, seconds=0.5, case=0, process=1, round=2)
    assert said(idle) == (WARNING, "mbench was stopped for 8.0 s, while no block was timed")
    assert said(in_block) == (WARNING, "mbench was stopped for 0.5 s; 1 block measured again")
    assert said(idle, in_block, in_block) == (
        WARNING, "mbench was stopped 3 times, for 0.5 to 8.0 s; 1 block measured again"
    )  # fmt: skip
    on = replace(idle, host="b")
    assert said(on)[1].startswith("the agent on b was stopped for 8.0 s")
    assert said(replace(on, what="worker"))[1].startswith("a worker was stopped on b for 8.0 s")
    assert said(replace(idle, what="machine"))[1].startswith("the machine was suspended for 8.0 s")
    assert said(replace(idle, what="worker"), in_block)[1].startswith("mbench was stopped 2 times")


def test_all_is_well(full):
    made = with_pair(two(), past=[])
    assert found(made) == {
        "equal work": (OK, "proven"),
        "repeatable": (OK, "5 pairs of fresh processes"),
        "machine": (OK, "quiet"),
    }
    assert found(full)["equal work"] == (OK, "proven: results within 1e-07 of the reference")


@pytest.mark.parametrize(
    ("proofs", "level", "said"),
    [
        (("yes", "no"), FAILED, "NOT PROVEN; flaky: updates: change of w off by 0.5"),
        ((), WARNING, "NOT CHECKED; leave out --no-verify to prove it"),
        (("shown", "yes"), OK, "shown in fp32: results within 1e-07 of the reference"),
    ],
)
def test_work_that_is_not_equal_is_said_with_the_check_that_failed(
    summary, proven, proofs, level, said
):
    known = {
        label: getattr(proven, name) for label, name in zip(("tiny", "flaky"), proofs, strict=False)
    }
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, proofs=known)
    assert found(made)["equal work"] == (level, said)


def test_too_few_pairs_and_contradicting_runs_are_warnings():
    few = two(process_pairs=2, low=None, high=None, verdict="undetermined")
    busy = two(distorted=1.0, process_pairs=5, spoilt_pairs=5)
    assert found(busy)["repeatable"] == (
        WARNING, "0 undisturbed pairs of the 3 that an answer needs",
    )  # fmt: skip
    assert found(few)["repeatable"] == (WARNING, "2 pairs of the 3 that an answer needs")
    earlier = EarlierRatio(run="before", started="2026-01-02T12:00:00+00:00", ratio=0.95, low=0.92,
                           high=0.98, process_pairs=5, contradicts=True)  # fmt: skip
    level, said = found(two(past=[earlier]))["repeatable"]
    assert level == WARNING
    assert said == ("5 pairs of fresh processes; CONTRADICTED by an earlier run on this machine: "
                    "0.95 (0.92 .. 0.98) in before")  # fmt: skip


def test_pairs_that_disagree_are_not_repeatable():
    wide = two(verdict="no difference shown", low=0.1, high=20.0, past=[])
    assert found(wide)["repeatable"] == (
        WARNING, "5 pairs of fresh processes, which disagree: the ratio is 0.1 .. 20",
    )  # fmt: skip
    assert found(two(low=0.8, high=1.5, past=[]))["repeatable"][0] == OK


def test_what_few_undisturbed_rounds_say_is_not_shown():
    left = RatioInterval(ratio=0.3523, low=None, high=None, process_pairs=1)
    made = with_case(two(disturbances=["a load"], undisturbed=left), disturbances=[LOAD])
    assert "; too few rounds are left without those; mbench doctor" in found(made)["machine"][1]


def test_a_disturbed_machine_is_said_with_what_is_left_and_what_to_do():
    made = with_case(two(disturbances=["a load"], undisturbed=CALM), disturbances=[LOAD])
    assert found(made)["machine"] == (
        WARNING,
        "disturbed: other programs used 0.9 of 2 cores in 83 % of the rounds; without those rounds "
        "1.12 (1.08 .. 1.16); mbench doctor says what to do",
    )


def test_more_than_two_disturbances_are_counted_and_the_worst_comes_first():
    others = [disturbed(f"cause {at}", kind=str(at), share=at / 10) for at in range(1, 5)]
    _, said = found(with_case(two(), disturbances=others))["machine"]
    assert said.startswith("disturbed: cause 4 in 40 % of the rounds; cause 3 in 30 %")
    assert "; 2 more: mbench show -v; " in said


def test_timed_work_that_contradicts_its_proof_fails():
    made = with_case(two(), 1, doubts=["losses differ by 3 %"])
    assert found(made)["timed work"] == (FAILED, "losses differ by 3 %")


def test_what_failed_is_said_once_with_its_reason(full):
    assert found(full)["failed"] == (FAILED, "tiny==1.26: oom: too large")


def test_what_was_interrupted_did_not_fail(full):
    (at,) = (at for at, case in enumerate(full.cases) if case.outcome == "oom")
    made = with_case(full, at, outcome="failed", reason=INTERRUPTED)
    made = replace(made, status="interrupted")
    known = found(made)
    assert "failed" not in known
    level, said = known["run"]
    assert level == WARNING
    assert said == f"interrupted; mbench compare --resume {made.run} measures the rest"


def test_a_run_of_explain_is_continued_by_its_own_command():
    made = replace(two(), status="unfinished", protocol=Adaptive(name=EXPLAIN))
    assert found(made)["run"][1] == "unfinished; the same command with --resume r measures the rest"


def test_several_comparisons_share_a_line():
    cases = [case(label=label, device="cpu", processes=5) for label in ("torch", "tf", "jax")]
    pairs = [pair(), pair(cases=(0, 2), framework="jax", process_pairs=3, equal_work="not checked")]
    known = found(summary_of(*cases, comparisons=pairs))
    assert known["repeatable"] == (OK, "3 to 5 pairs of fresh processes each")
    assert known["equal work"] == (
        WARNING,
        "proven in 1 of 2, NOT CHECKED in 1 of 2; leave out --no-verify to prove it",
    )


def test_what_was_held_against_nothing_is_said():
    clock, speed = "its clock (6 of 8 rounds needed)", "its speed (no product)"
    made = with_case(with_case(two(), 0, unchecked=[clock]), 1, unchecked=[clock, speed])
    level, said = found(made)["timed work"]
    assert (level, said) == (
        WARNING,
        f"not checked: {clock} and {speed}",
    )
