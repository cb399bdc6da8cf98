"""Numbers and verdicts as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from summaries import case, pair, summary_of

from mbench.reports.cases import case_table
from mbench.reports.text import interval, number
from mbench.reports.verdicts import verdict_line, verdict_lines


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (0.0, "0"),
        (1, "1"),
        (1.23456, "1.235"),
        (12345.6, "12350"),
        (123456789.0, "123500000"),
        (0.00012345, "0.0001234"),
        (0.000001, "1e-06"),
        (2.5e20, "2.5e+20"),
        (-12345.6, "-12350"),
        (99.999, "100"),
    ],
)
def test_numbers_have_four_digits_and_no_needless_exponent(value, text):
    assert number(value) == text


def test_numbers_of_fewer_digits():
    assert number(1.23456, 3) == "1.23"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.00004, 1.186, "1.00004 .. 1.186"),
        (0.9, 0.99997, "0.9 .. 0.99997"),
        (1.0, 1.186, "1 .. 1.186"),
        (None, 1.186, ""),
    ],
)
def test_an_end_next_to_one_is_told_from_one(low, high, text):
    assert interval(low, high) == text


def rows_of(summary):
    table = case_table(summary)
    return [dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows]


def test_rows(full):
    tiny, flaky, gone = rows_of(full)
    assert tiny["framework"] == "tiny"
    assert tiny["version"] == "1.2"
    assert tiny["model"] == "tiny-model"
    assert (tiny["mode"], tiny["batch"], tiny["precision"]) == ("inference", "8", "fp32")
    assert tiny["throughput"] == "79.6 samples/s"
    assert tiny["95 % interval"].count(" .. ") == 1
    assert tiny["first step s"] == "2"
    assert tiny["peak MiB"] == "100"
    assert flaky["throughput"].startswith("53.")
    assert gone["throughput"] == "oom"
    assert gone["version"] == gone["step ms"] == gone["peak MiB"] == ""


def test_an_unusual_size_is_said(summary):
    made = summary(seconds={"tiny": [[1.0]]}, model=("resnet50",), sizes={"image_size": 96})
    (row,) = rows_of(made)
    assert row["sizes"] == "image size 96 (non-standard)"


def test_a_verdict_is_its_case_its_sentence_and_its_numbers():
    old, new = (case(label=label, model="m", device="cpu", compiler=compiler)
                for label, compiler in (("old", "eager"), ("new", "graph")))  # fmt: skip
    shared = {
        name: getattr(new.axes, name)
        for name in ("model", "mode", "batch_size", "precision", "device", "threads")
    }
    made = pair(setup="default", ratio=1.5, low=1.4, high=1.6, median=1.5, reason=None,
                shared=shared)  # fmt: skip
    assert str(verdict_line(summary_of(old, new), made, less={"threads"})) == (
        "m train, batch 8, fp32, cpu: new is 50 % faster than old (ratio 1.5, 95 % interval "
        "1.4 .. 1.6, median of rounds 1.5, 5 process pairs)"
    )


def test_those_against_the_first_framework_come_first_and_all_hold_together(summary):
    speeds = {"tiny": 1.0, "flaky": 2.0, "tiny==1.26": 3.0}
    seconds = {label: [[speed], [1.01 * speed], [speed]] for label, speed in speeds.items()}
    made = summary(seconds=seconds, batch_size=(8, 16))
    lines = [*map(str, verdict_lines(made))]
    assert [" tiny (ratio" in line for line in lines] == [True] * 4 + [False] * 3
    assert lines[-1].startswith("6 verdicts hold together with 95 %")


def test_verdicts_name_compilers_where_there_are_several(summary):
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, compiler=("eager", "steady"))
    first, second = map(str, verdict_lines(made))
    assert "fp32, cpu, eager: No answer yet on Flaky against Tiny: 2 more" in first
    assert "fp32, cpu, steady: No answer yet on Flaky against Tiny: 2 more" in second


@pytest.mark.parametrize(
    ("tiny", "flaky", "said"),
    [
        ("yes", "yes", "equal work: proven (largest error 1e-07)"),
        ("shown", "yes", "equal work: shown in fp32 (largest error 1e-07)"),
        ("yes", "no", "equal work: NOT PROVEN, flaky: updates: change of w off by 0.5"),
        ("no", "yes", "equal work: NOT PROVEN, tiny: updates: change of w off by 0.5"),
        (None, "yes", "equal work: NOT CHECKED"),
    ],
)
def test_verdicts_say_what_is_known_of_equal_work(summary, proven, tiny, flaky, said):
    which = {"tiny": tiny, "flaky": flaky}
    proofs = {label: getattr(proven, name) for label, name in which.items() if name}
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, proofs=proofs)
    (line,) = verdict_lines(made)
    assert str(line).endswith(f"; {said}")


def test_a_proof_of_inference_outputs_without_errors_of_its_own(summary, proven):
    exact = replace(proven.yes, worst=None)
    made = summary(
        seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, proofs={"tiny": exact, "flaky": exact}
    )
    assert str(verdict_lines(made)[0]).endswith("; equal work: proven")
