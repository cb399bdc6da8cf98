"""Numbers and verdicts as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mbench.reports.cells import case_columns, case_rows
from mbench.reports.remarks import noise_note, verdict_line, verdict_lines
from mbench.reports.text import interval, number


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


def test_rows(full):
    tiny, flaky, gone = (dict(zip(case_columns, row, strict=True)) for row in case_rows(full))
    assert tiny["framework"] == "tiny"
    assert tiny["version"] == "1.2"
    assert tiny["model"] == "tiny-model"
    assert (tiny["mode"], tiny["batch"], tiny["precision"]) == ("inference", "8", "fp32")
    assert tiny["throughput"] == "79.6 samples/s"
    assert tiny["95 % interval"].count(" .. ") == 1
    assert tiny["first step s"] == "2"
    assert tiny["peak MiB"] == "100"
    assert flaky["throughput"].startswith("53.")
    assert gone["throughput"] == "oom: too large"
    assert gone["version"] == gone["step ms"] == gone["peak MiB"] == ""


def test_an_unusual_size_is_said(document):
    made = document(seconds={"tiny": [[1.0]]}, models=("resnet50",), sizes={"image_size": 96})
    (row,) = case_rows(made)
    assert row[2] == "resnet50 (non-standard image size 96)"


def comparison(**changes):
    return {
        "model": "m", "mode": "train", "batch_size": 8, "precision": "fp32", "device": "cpu",
        "framework": "new", "baseline": "old", "ratio": 1.5, "low": 1.4, "high": 1.6,
        "process_pairs": 5, "verdict": "faster", "reason": None, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "new is 1.5 times as fast as old (ratio 1.5, 95 % interval 1.4 .. 1.6, "
            "5 process pairs)",
        ),
        (
            {"ratio": 0.8, "low": 0.75, "high": 0.85, "verdict": "slower"},
            "old is 1.25 times as fast as new (ratio 0.8, 95 % interval 0.75 .. 0.85, "
            "5 process pairs)",
        ),
        (
            {"ratio": 1.01, "low": 0.9, "high": 1.1, "verdict": "no difference shown"},
            "new against old: no difference shown (ratio 1.01, 95 % interval 0.9 .. 1.1, "
            "5 process pairs)",
        ),
        (
            {"low": None, "high": None, "verdict": "undetermined", "no_interval": "one pair"},
            "new against old: ratio 1.5, undetermined (no interval: one pair)",
        ),
        (
            {"reason": "budget of 9 s spent"},
            "new is 1.5 times as fast as old (ratio 1.5, 95 % interval 1.4 .. 1.6, "
            "5 process pairs; budget of 9 s spent)",
        ),
        (
            {"ratio": None, "low": None, "high": None, "verdict": None, "reason": "new is oom: x"},
            "new against old: not compared, new is oom: x",
        ),
    ],
)
def test_verdicts_in_one_sentence(changes, said):
    assert verdict_line(comparison(**changes)) == f"m train, batch 8, fp32, cpu: {said}"


def test_verdicts_name_compilers_where_a_framework_ran_under_several(document):
    made = document(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, compilers=("eager", "steady"))
    first, second = verdict_lines(made)
    assert "fp32, cpu (tiny eager, flaky eager): " in first
    assert "fp32, cpu (tiny steady, flaky steady): " in second
    assert "eager" not in verdict_lines(document(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}))[0]


@pytest.mark.parametrize(
    ("tiny", "flaky", "said"),
    [
        ("yes", "yes", "equal work: proven (worst 1e-07)"),
        ("yes", "no", "equal work: NOT PROVEN, flaky: updates: change of w off by 0.5"),
        ("no", "yes", "equal work: NOT PROVEN, tiny: updates: change of w off by 0.5"),
        (None, "yes", "equal work: NOT CHECKED"),
    ],
)
def test_verdicts_say_what_is_known_of_equal_work(document, proven, tiny, flaky, said):
    which = {"tiny": tiny, "flaky": flaky}
    proofs = {label: getattr(proven, name) for label, name in which.items() if name}
    made = document(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, proofs=proofs)
    (line,) = verdict_lines(made)
    assert line.endswith(f"; {said}")


def test_a_proof_of_inference_outputs_without_errors_of_its_own(document, proven):
    exact = replace(proven.yes, worst=None)
    made = document(
        seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, proofs={"tiny": exact, "flaky": exact}
    )
    assert verdict_lines(made)[0].endswith("; equal work: proven")


@pytest.mark.parametrize(
    ("floor", "said"),
    [(None, ""), (0.0123, "; noise floor here 1.2 %"), (27.3, "; noise floor here 2700 %")],
)
def test_noise_floors_are_told_without_exponents(floor, said):
    assert noise_note({"noise_floor": floor}) == said
