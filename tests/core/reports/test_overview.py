"""A run at a glance."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screens import on_screen
from summaries import case, disturbed, pair, summary_of, with_case, with_pair

from mbench.reports.formats import table
from mbench.reports.overview import Scale, overview_table, subject_line
from mbench.results.pair_summary import RatioInterval
from mbench.results.replication import EarlierRatio, NextStep

COLUMNS, LINES = 80, 24
STEP = NextStep(half_width=0.02, process_pairs=9, seconds=540.0, options="--resume R --until 2%")


@pytest.fixture
def compared():
    """The summary of two frameworks, compared with default settings on a busy machine."""
    known = {"device": "cpu", "mode": "train", "batch_size": 4, "threads": 2, "processes": 5}
    torch = case(label="torch", framework="torch", framework_title="PyTorch", rate=8.982,
                 times={"mean": 445.8}, compiler="eager", first_step_seconds=0.53,
                 peak_memory_bytes=1130 * 2**20, mfu=0.434, **known)  # fmt: skip
    tf = case(label="tf", framework="tf", framework_title="TensorFlow", rate=9.993,
              times={"mean": 401.1}, compiler="graph", first_step_seconds=3.14,
              peak_memory_bytes=1797 * 2**20, mfu=0.483, **known)  # fmt: skip
    ratio = pair(ratio=1.112, low=1.071, high=1.155, setup="default")
    load = disturbed("other programs used {:.1f} of 2 cores", 0.9, share=0.83)
    return with_case(summary_of(torch, tf, comparisons=[ratio]), disturbances=[load])


def test_one_comparison_fits_a_terminal(compared):
    lines = on_screen(table(compared), COLUMNS).splitlines()
    assert len(lines) <= LINES
    assert lines[:2] == [
        "TensorFlow is 11 % faster than PyTorch (95 % interval: 7 to 16 % faster)",
        "resnet50 train, batch 4, fp32, cpu, default settings",
    ]
    shown = "\n".join(lines)
    for part in ("ok    equal work  proven", "ok    repeatable  5 pairs of fresh processes",
                 "warn  machine     disturbed: other programs used 0.9 of 2 cores in 83 % of",
                 "Details: mbench show -v   Why: mbench explain   Page: mbench report",
                 "Run r, complete, 60 s"):  # fmt: skip
        assert part in shown


def test_the_worst_that_is_usual_fits_a_terminal_too(compared):
    """The run has two disturbances, an earlier run, no peak, no difference and a next step."""
    pace = disturbed("core speed varied by a factor of {:.1f}", 1.7, kind="pace", share=0.33)
    memory = disturbed("memory speed varied by a factor of {:.1f}", 1.8, kind="memory-pace",
                       share=0.23)  # fmt: skip
    speed = "its speed against the machine's peak (--mfu)"
    earlier = EarlierRatio(
        run="20261128-022121-fdcd", started="2026-11-28T02:21:21+00:00", ratio=1.06, low=0.98,
        high=1.147, process_pairs=3, contradicts=False,
    )  # fmt: skip
    calm = RatioInterval(ratio=1.07, low=0.878, high=1.3, process_pairs=3)
    made = with_pair(
        compared, verdict="no difference shown", ratio=1.06, low=0.874, high=1.29,
        process_pairs=3, next_step=STEP, past=[earlier], undisturbed=calm,
    )  # fmt: skip
    made = with_case(made, disturbances=[pace, memory], unchecked=[speed])
    lines = on_screen(table(replace(made, run="20261128-030211-146e")), COLUMNS).splitlines()
    assert lines[-1].startswith("Run "), "all of it is there"
    assert len(lines) <= LINES


def test_lines_are_whole_in_files_and_pipes(compared):
    lines = on_screen(table(compared)).splitlines()
    (machine,) = (line for line in lines if line.startswith("warn  machine"))
    assert machine.endswith("mbench doctor says what to do")


def test_all_numbers_have_one_direction(compared):
    made = with_pair(compared, verdict="slower", ratio=0.474, low=0.45, high=0.49)
    lines = on_screen(table(made)).splitlines()
    assert lines[0] == (
        "TensorFlow is 0.474 times as fast as PyTorch (95 % interval: 0.45 to 0.49 times)"
    )
    (row,) = (line for line in lines if line.startswith("tf graph"))
    assert row.split()[2:7] == ["9.993", "0.474", "0.45", "..", "0.49"]
    assert row.index("+") < row.index("|"), "to the left of 1"


def test_a_legend_says_what_a_ratio_and_its_bar_mean(compared):
    line = "vs torch: 1.5 is 50 % more images/s; bar: + ratio, [==] its interval, | equal"
    assert line in on_screen(table(compared))
    narrow = on_screen(table(compared), 60)
    assert "vs torch: 1.5 is 50 % more images/s\n" in narrow, "its bar is left out there"
    failed = with_pair(compared, verdict=None, ratio=None, low=None, high=None)
    assert "1.5 is 50 %" not in on_screen(table(failed))


def test_pairs_that_are_all_disturbed_have_no_interval_that_reads_like_an_answer(compared):
    made = with_pair(compared, verdict="undetermined", ratio=1.74, low=1.57, high=1.92,
                     process_pairs=3, spoilt_pairs=3)  # fmt: skip
    (row,) = (x for x in on_screen(table(made)).splitlines() if x.startswith("tf graph"))
    assert "1.74" in row
    assert "?" in row
    assert "1.57" not in row
    assert "[" not in row


def test_a_disturbed_run_without_an_answer_says_what_to_do_where_no_price_is_known(compared):
    said = "To get an answer, measure again while the machine is quiet: mbench doctor"
    wide = {"verdict": "no difference shown", "low": 0.1, "high": 20.0}
    assert said in on_screen(table(with_pair(compared, **wide, disturbances=["a load"])))
    assert said not in on_screen(table(with_pair(compared, **wide, disturbances=[])))
    cut = replace(with_pair(compared, **wide, disturbances=["a load"]), status="interrupted")
    assert said not in on_screen(table(cut)), "the rest is measured first"


def test_what_more_would_take_stands_below(compared):
    made = with_pair(compared, verdict="no difference shown", low=0.96, high=1.14, next_step=STEP)
    price = "To narrow it to ±2 %, about 9 min more: mbench compare --resume R --until 2%"
    assert price in on_screen(table(made))


def test_the_table_names_the_baseline_and_the_unit(compared):
    grid = overview_table(compared)
    assert grid.columns[:4] == ("framework", "images/s", "vs torch", "95 % interval")
    assert [*map(str, grid.rows[0][:4])] == ["torch eager", "8.982", "1", ""]
    assert [*map(str, grid.rows[1][:4])] == ["tf graph", "9.993", "1.112", "1.071 .. 1.155"]
    assert "verdict" not in grid.columns, "the answer says it"


def test_several_comparisons_are_one_table(summary):
    seconds = {"tiny": [[1.0], [1.01], [1.0]], "flaky": [[2.0], [2.01], [2.02]]}
    made = summary(seconds=seconds, batch_size=(8, 16), mode=("train", "inference"))
    grid = overview_table(made)
    assert grid.columns[:3] == ("framework", "mode", "batch")
    assert len(grid.rows) == 8
    at = list(grid.columns).index("verdict")
    assert [str(row[at]) for row in grid.rows] == ["", "slower"] * 4


def test_without_a_comparison_the_interval_is_of_the_throughput(summary):
    grid = overview_table(summary(seconds={"tiny": [[1.0], [1.01], [1.02]]}))
    assert grid.columns[:3] == ("framework", "samples/s", "95 % interval")
    assert str(grid.rows[0][2]) == "77.29 .. 81.18"


def test_a_framework_in_several_settings_has_what_was_typed(summary):
    arms = ("tiny", "tiny:fp64:X=1")
    grid = overview_table(summary(seconds={arm: [[1.0], [1.01], [1.0]] for arm in arms}))
    assert [str(row[0]) for row in grid.rows] == ["tiny eager", "tiny:fp64:X=1 eager"]
    assert not {"precision", "variables"} & set(grid.columns)


def test_scales_are_told_apart():
    cases = [case(scale=scale, rate=rate, device="cpu") for scale, rate in
             (("1x1", 566.9), ("1x2", 552.3))]  # fmt: skip
    lines = on_screen(table(summary_of(*cases))).splitlines()
    assert lines[0] == "Tiny alone, 2 cases"
    rows = [line.split() for line in lines if line.startswith("tiny eager")]
    assert [(row[-2], row[-1]) for row in rows] == [("1x1", "566.9"), ("1x2", "552.3")]


@pytest.mark.parametrize(
    ("low", "high", "bar"),
    [
        (1.071, 1.155, " |     [==+==]"),
        (0.96, 1.2, " [=|=====+===]"),
        (None, None, " |           ?"),
    ],
)
def test_a_bar_holds_the_interval_beside_the_line_at_1(low, high, bar):
    made = pair(ratio=1.112, low=low, high=high)
    assert Scale.of([made]).bar(made) == bar


def test_what_all_cases_share_is_said_once(full):
    assert subject_line(full) == "tiny-model inference, batch 8, fp32, cpu, default settings"
