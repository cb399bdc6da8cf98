"""The one line that says what a whole run shows."""

from __future__ import annotations

import pytest
from summaries import with_pair

from mbench.engine.outcome import CaseEnded
from mbench.reports.headline import headline, shared, subject

EACH = "each as its documentation shows first"
RUNS = "Each runs as its documentation shows first"
SECONDS = {"tiny": [[1.0], [1.01], [1.0]], "flaky": [[2.0], [2.01], [2.02]]}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"seconds": SECONDS}, f"tiny (eager) is 2 times as fast as flaky (eager), {EACH}"),
        ({"seconds": {**SECONDS, "flaky": [[1.0], [1.05], [0.99]]}},
         f"flaky (eager) against tiny (eager), {EACH}: no difference shown, "
         "flaky (eager) may be up to 7.1 % slower or 5.6 % faster"),
        ({"seconds": {**SECONDS, "flaky": []}, "ends": {"flaky": CaseEnded("oom", "x")}},
         f"flaky (eager) against tiny (eager), {EACH}: not compared"),
        ({"seconds": {**SECONDS, "tiny==1": [[0.5], [0.51], [0.5]]}},
         "tiny (eager) is 2 times as fast as flaky (eager); "
         f"tiny==1 (eager) is 1.99 times as fast as tiny (eager). {RUNS}"),
        ({"seconds": {**SECONDS, "tiny==1": [], "tiny==2": []}},
         "tiny (eager) is 2 times as fast as flaky (eager); "
         f"tiny==1 and tiny==2 against tiny: not compared. {RUNS}"),
        ({"seconds": SECONDS, "batch_size": (1, 2, 3)},
         f"tiny is faster than flaky in all 3: 2 times. {RUNS}"),
        ({"seconds": {"tiny": [[1.0]]}}, "tiny, compared with nothing"),
    ],
)  # fmt: skip
def test_headlines(summary, made, said):
    assert headline(summary(**made)) == said


NOTHING = ("no difference shown", 1.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([("faster", 1.08), ("faster", 1.31), NOTHING, ("faster", 1.2)],
         "flaky is faster than tiny in 3 of 4: 1.08 to 1.31 times; "
         "no difference shown in inference, batch 8"),
        ([("slower", 0.5), ("faster", 1.5), ("slower", 0.8), (None, None)],
         "tiny is faster than flaky in 2 of 4: 1.25 to 2 times; "
         "flaky is faster in 1 of 4: 1.5 times; not compared in inference, batch 16"),
        ([("faster", 2.0), NOTHING, NOTHING, NOTHING],
         "flaky is faster than tiny in 1 of 4: 2 times; no difference shown in 3 of 4"),
        ([NOTHING] * 4, "flaky against tiny: no difference shown in all 4"),
        ([("alike", 1.0), ("alike", 1.0), ("undetermined", 1.1), NOTHING],
         "flaky against tiny: alike within 3 % in train, batch 8 and train, batch 16; "
         "no difference shown in inference, batch 16; undetermined in inference, batch 8"),
    ],
)  # fmt: skip
def test_two_frameworks_over_several_cases(summary, found, said):
    made = summary(seconds=SECONDS, mode=("train", "inference"), batch_size=(8, 16))
    for at, (verdict, ratio) in enumerate(found):
        made = with_pair(made, at, verdict=verdict, ratio=ratio)
    assert headline(made) == f"{said}. {RUNS}"


def test_several_frameworks_over_several_cases(summary):
    seconds = {**SECONDS, "tiny==1": [[1.0], [1.05], [0.99]]}
    assert headline(summary(seconds=seconds, batch_size=(8, 16))) == (
        "tiny is faster than flaky in both: 2 times. "
        "tiny==1 against tiny: no difference shown in both. "
        "Each runs as its documentation shows first"
    )


def test_compilers_are_named_where_a_framework_ran_under_several(summary):
    seconds = {"tiny": [[1.0]], "flaky": [[1.0]]}
    made = summary(seconds=seconds, compiler=("eager", "steady"), batch_size=(8, 16))
    less = shared(made)
    subjects = [subject(made, comparison, less=less) for comparison in made.comparisons]
    assert subjects == ["batch 8, eager", "batch 16, eager", "batch 8, steady", "batch 16, steady"]
    made = summary(seconds=seconds, batch_size=(8, 16))
    assert subject(made, made.comparisons[0], less=shared(made)) == "batch 8"
