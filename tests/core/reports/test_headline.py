"""The one line that says what a whole run shows."""

from __future__ import annotations

import pytest
from summaries import with_pair

from mbench.engine.outcome import CaseEnded
from mbench.reports.headline import headline, shared, subject

SECONDS = {"tiny": [[1.0], [1.01], [1.0]], "flaky": [[2.0], [2.01], [2.02]]}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"seconds": SECONDS},
         "Flaky is 0.499 times as fast as Tiny (95 % interval: 0.49 to 0.509 times)"),
        ({"seconds": {**SECONDS, "flaky": [[0.4], [0.41], [0.4]]}},
         "Flaky is 2.49 times as fast as Tiny (95 % interval: 2.44 to 2.54 times)"),
        ({"seconds": {**SECONDS, "flaky": [[1.0], [1.05], [0.99]]}},
         "No difference shown between Flaky and Tiny: Flaky may be up to 7 % slower or 6 % faster"),
        ({"seconds": {**SECONDS, "flaky": []}, "ends": {"flaky": CaseEnded("oom", "x")}},
         "Flaky against Tiny: not compared"),
        ({"seconds": {**SECONDS, "tiny==1": [[0.5], [0.51], [0.5]]}},
         "flaky is 0.499 times as fast as tiny; tiny==1 is 99 % faster than tiny"),
        ({"seconds": {**SECONDS, "tiny==1": [], "tiny==2": []}},
         "flaky is 0.499 times as fast as tiny; tiny==1 and tiny==2 against tiny: not compared"),
        ({"seconds": SECONDS, "batch_size": (1, 2, 3)},
         "Flaky is slower than Tiny in all 3 (0.499 times as fast)"),
        ({"seconds": {"tiny": [[1.0]]}}, "Tiny: 80 samples/s"),
        ({"seconds": {"tiny": [[1.0], [1.01], [1.02]]}},
         "Tiny: 79.21 samples/s (95 % interval: 77.29 .. 81.18)"),
        ({"seconds": {"tiny": [[1.0]]}, "batch_size": (1, 2)}, "Tiny alone, 2 cases"),
    ],
)  # fmt: skip
def test_headlines(summary, made, said):
    assert headline(summary(**made)) == said


NOTHING = ("no difference shown", 1.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([("faster", 1.08), ("faster", 1.31), NOTHING, ("faster", 1.2)],
         "Flaky is faster than Tiny in 3 of 4 (8 to 31 %), "
         "no difference shown in inference, batch 8"),
        ([("slower", 0.5), ("faster", 1.5), ("slower", 0.8), (None, None)],
         "Flaky is slower than Tiny in 2 of 4 (0.8 to 0.5 times as fast), faster in 1 of 4 (50 %), "
         "not compared in inference, batch 16"),
        ([("faster", 2.0), ("faster", 1.5), NOTHING, NOTHING],
         "Flaky is faster than Tiny in 2 of 4 (1.5 to 2 times as fast), no difference shown in "
         "inference, batch 8 and inference, batch 16"),
        ([NOTHING] * 4, "Flaky against Tiny: no difference shown in all 4"),
        ([("alike", 1.0), ("alike", 1.0), ("undetermined", 1.1), NOTHING],
         "Flaky against Tiny: alike within 3 % in train, batch 8 and train, batch 16, "
         "no difference shown in inference, batch 16, no answer yet in inference, batch 8"),
    ],
)  # fmt: skip
def test_two_frameworks_over_several_cases(summary, found, said):
    made = summary(seconds=SECONDS, mode=("train", "inference"), batch_size=(8, 16))
    for at, (verdict, ratio) in enumerate(found):
        made = with_pair(made, at, verdict=verdict, ratio=ratio, low=None, high=None)
    assert headline(made) == said


def test_several_frameworks_over_several_cases(summary):
    seconds = {**SECONDS, "tiny==1": [[1.0], [1.05], [0.99]]}
    assert headline(summary(seconds=seconds, batch_size=(8, 16))) == (
        "flaky is slower than tiny in both (0.499 times as fast); "
        "tiny==1 against tiny: no difference shown in both"
    )


def test_compilers_are_named_where_a_framework_ran_under_several(summary):
    seconds = {"tiny": [[1.0]], "flaky": [[1.0]]}
    made = summary(seconds=seconds, compiler=("eager", "steady"), batch_size=(8, 16))
    less = shared(made)
    subjects = [subject(made, comparison, less=less) for comparison in made.comparisons]
    assert subjects == ["batch 8, eager", "batch 16, eager", "batch 8, steady", "batch 16, steady"]
    made = summary(seconds=seconds, batch_size=(8, 16))
    assert subject(made, made.comparisons[0], less=shared(made)) == "batch 8"
