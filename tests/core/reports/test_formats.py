"""All formats show the same numbers, and hostile text breaks none of them."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from screens import on_screen
from summaries import disturbed, with_case, with_pair

from mbench.cli import builtin
from mbench.reports.cases import case_table
from mbench.reports.formats import FORMATS, details, markdown
from mbench.reports.text import number
from mbench.reports.verdicts import verdict_lines
from mbench.results.machine import Energy
from mbench.spec.presets import PRESETS


def table_of(made):
    return on_screen(details(made))


def read_csv(made):
    return list(csv.DictReader(io.StringIO(FORMATS["csv"](made), newline="")))


def markdown_rows(text):
    """The cells of each line of the table, as a reader of Markdown sees them."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[cell.strip() for cell in row] for row in rows]


def test_every_format_is_tried():
    assert set(FORMATS) == set(builtin.FORMATS)


@pytest.mark.parametrize("report", FORMATS.values(), ids=FORMATS)
def test_every_format_ends_in_one_newline(report, full):
    text = on_screen(report(full))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("report", FORMATS.values(), ids=FORMATS)
def test_every_format_renders_a_run_of_nothing(report, summary):
    empty = replace(summary(seconds={"tiny": [[]]}, status=None, end=None), cases=[])
    assert on_screen(report(empty)).endswith("\n")


def test_all_formats_show_the_same_numbers(full):
    shown_table, shown_markdown = on_screen(details(full)), markdown(full)
    assert json.loads(FORMATS["json"](full)) == full.to_json()
    read = read_csv(full)
    assert len(read) == len(full.cases) == 3
    for case, row in zip(full.cases, read, strict=True):
        speed, times = case.throughput, case.step_time_ms
        numbers = {
            "samples_per_second": speed and speed.value,
            "samples_per_second_low": speed and speed.low,
            "samples_per_second_high": speed and speed.high,
            "step_time_ms": times and times.mean,
            "first_step_seconds": case.first_step_seconds,
            "peak_memory_bytes": case.peak_memory_bytes,
            "mfu": case.mfu,
            "joules_per_sample": case.energy and case.energy.joules_per_sample,
            "step_time_ms_p50": times and times.percentiles["p50"],
            "step_time_ms_p95": times and times.percentiles["p95"],
            "step_time_ms_p99.9": times and times.percentiles["p99.9"],
        }
        for name, value in numbers.items():
            assert (float(row[name]) if row[name] else None) == value
        for value in (speed.value, speed.low, times.mean) if speed else ():
            for shown in (shown_table, shown_markdown):
                assert number(value) in shown
    for pair in full.comparisons:
        row = next(row for row in read if row["label"] == pair.framework)
        assert row["baseline"] == "tiny"
        assert row["verdict"] == (pair.verdict or "")
        assert row["equal_work"] == pair.equal_work
        assert (float(row["ratio"]) if row["ratio"] else None) == pair.ratio
        if pair.ratio is not None:
            assert f"ratio {number(pair.ratio)}" in shown_table
            assert f"ratio {number(pair.ratio)}" in shown_markdown
    assert read[0]["ratio"] == read[0]["baseline"] == ""
    for line in map(str, verdict_lines(full)):
        assert line in shown_table
        assert line in shown_markdown


def test_markdown_is_a_table_of_all_cases(full):
    rows = markdown_rows(markdown(full))
    cases = case_table(full)
    assert rows[0] == cases.columns
    assert set(rows[1]) == {"---"}
    assert rows[2:5] == [[*map(str, row)] for row in cases.rows]
    assert rows[5:] == [["latency ms", "steps", "p50", "p90", "p95", "p99", "p99.9"], ["---"] * 7,
                        ["tiny", "20", "10", "18", "19", "-", "-"]]  # fmt: skip


def test_csv_says_why_there_are_no_numbers(full):
    row = read_csv(full)[2]
    assert (row["outcome"], row["reason"]) == ("oom", "too large")
    assert row["samples_per_second"] == row["step_time_ms"] == row["ratio"] == ""


def test_csv_tells_comparisons_apart_that_differ_in_nothing_a_case_says(summary):
    """The default compiler may be the same as one that is asked for by name."""
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[2.0]]}, compiler=("default", "eager"))
    made = with_pair(made, 0, ratio=0.25)
    ratios = [row["ratio"] for row in read_csv(made)]
    assert ratios == ["", "0.25", "", "0.5"]


def test_csv_says_which_percentiles_lack_and_why(full):
    row = read_csv(full)[0]
    assert row["step_time_ms_p99"] == ""
    assert row["percentiles_lacking"].startswith(
        "p99 needs 100 steps, but there are only 20; p99.9 needs"
    )


def test_csv_says_what_disturbed_and_what_a_sample_cost(full):
    energy = Energy(joules_per_sample=2.5, mean_watts=50.0, source="made up")
    found = [disturbed("others computed"), disturbed("memory was full")]
    first, second, _ = read_csv(with_case(full, 0, disturbances=found, energy=energy))
    assert (first["disturbances"], second["disturbances"]) == (
        "others computed; memory was full", "",
    )  # fmt: skip
    assert (first["joules_per_sample"], second["joules_per_sample"]) == ("2.5", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "dlperf",
            "protocol dlperf: 20 steps of warm-up, then 100; median of 7 fresh processes; "
            "one case after the other",
        ),
        (
            "superbench",
            "protocol superbench: 64 steps of warm-up, then 2048; one process; "
            "one case after the other",
        ),
        (
            "nvidia",
            "protocol nvidia: 500 steps of warm-up, then 500 in each of 2 epochs; one process; "
            "one case after the other",
        ),
    ],
)
def test_a_published_protocol_is_named_with_its_constants(summary, name, said):
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[2.0]]}, protocol=PRESETS[name])
    assert said in " ".join(table_of(made).split())
    assert said in markdown(made)
    assert read_csv(made)[0]["protocol"] == name
    shown = " ".join(table_of(made).split())
    assert (
        f"No answer yet on Flaky against Tiny: {name} measures one case after the other, so drift"
        in shown
    )


def test_mbenchs_own_protocol_needs_no_words(full):
    assert "protocol" not in table_of(full)


def test_clipping_is_told_where_it_is_not_as_usual(summary, full):
    seconds = {"tiny": [[1.0]], "flaky": [[2.0]]}
    made = summary(seconds=seconds, clip=(True, False))
    said = "tiny-model train, batch 8, fp32, cpu, without clipping: "
    for shown in (table_of(made), markdown(made)):
        assert said in shown
        assert re.search(r"^(\| )?framework .*\bclip\b", shown, re.MULTILINE)
    assert [row["clip"] for row in read_csv(made)] == ["True"] * 2 + ["False"] * 2
    assert "without clipping" in FORMATS["html"](made)
    without = table_of(summary(seconds=seconds, clip=(False,)))
    assert re.search(r"^model .*, clip no", without, re.MULTILINE)
    assert "clip" not in table_of(full)


def test_the_table_says_what_all_cases_share_once(full):
    lines = table_of(full).splitlines()
    at = lines.index(
        "model tiny-model, mode inference, batch 8, precision fp32, compiler eager, device cpu"
    )
    assert lines[at + 1].startswith("framework")
    assert "fp32" not in "".join(lines[at + 1 :])


def test_latencies_have_a_table_and_what_the_sample_does_not_support_is_said(full):
    shown = table_of(full)
    assert re.search(r"^tiny +20 +10 +18 +19 +- +-$", shown, re.MULTILINE)
    for text in (shown, markdown(full)):
        p99 = "p99 needs 100 steps, but there are only 20"
        said = f"{p99}; p99.9 needs 1,000 steps, but there are only 20"
        assert said in " ".join(text.split())
        assert "tiny, flaky: by hand" in text


def test_variables_that_workers_inherited_are_said(full):
    assert "inherited" not in table_of(full) + markdown(full)
    variables = {"LD_PRELOAD": "a.so", "OMP_DYNAMIC": "1"}
    made = replace(full, system=replace(full.system, variables=variables))
    for report in (details, markdown):
        shown = on_screen(report(made)).replace("\\", "")
        assert "workers inherited LD_PRELOAD=a.so, OMP_DYNAMIC=1" in shown


def test_latencies_of_one_framework_in_several_cases_are_told_apart(full):
    (other, *_) = with_case(full, 0, precision="fp64").cases
    made = replace(full, cases=[*full.cases, other])
    for precision in ("fp32", "fp64"):
        assert re.search(rf"^tiny \({precision}\) +20 +10 ", table_of(made), re.MULTILINE)


def test_the_table_holds_no_colour_codes(full, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in table_of(full)


def test_csv_gives_hostile_text_back_less_what_a_terminal_or_a_spreadsheet_would_obey(
    hostile, harm
):
    printed = "".join(sign for sign in harm if sign.isprintable())
    quoted = f"'{printed}" if printed[0] in "=+-@" else printed
    read = read_csv(hostile)
    assert len(read) == 3
    assert read[2]["reason"] == quoted
    assert read[0]["label"] == "tiny" + printed


def test_json_gives_hostile_text_back_as_it_was(hostile):
    assert json.loads(FORMATS["json"](hostile)) == hostile.to_json()


def test_json_refuses_what_is_not_finite(full):
    speed = replace(full.cases[0].throughput, value=float("inf"))
    with pytest.raises(ValueError, match="JSON"):
        FORMATS["json"](with_case(full, 0, throughput=speed))


def test_markdown_stays_a_table_whatever_the_text(hostile):
    text = markdown(hostile)
    rows = markdown_rows(text)
    cases, latencies = rows[: 2 + len(hostile.cases)], rows[2 + len(hostile.cases) :]
    assert {len(row) for row in cases} == {len(case_table(hostile).columns)}
    assert {len(row) for row in latencies} == {7}
    answer, *lines = [line for line in text.splitlines() if line]
    assert answer.startswith("**")
    assert all(line.startswith(("- ", "| ")) for line in lines)
    assert len(lines) == len(rows) + sum(line.startswith("- ") for line in lines)


def test_markdown_shows_markup_and_does_not_obey_it(hostile):
    text = markdown(hostile)
    assert "<" not in text
    for sign in ("|", "*", "`", "[", "]"):
        body = "".join(c for row in markdown_rows(text)[2:] for c in row)
        assert not re.search(rf"(?<!\\)(\\\\)*{re.escape(sign)}", body.replace("\\" + sign, ""))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u2028]", text)


def test_the_table_shows_hostile_text_and_does_not_obey_it(hostile):
    shown = table_of(hostile)
    assert "[red]x[/red]" in shown
    assert "<script>" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u2028]", shown)


def test_a_metric_that_is_asked_for_has_columns(summary):
    single = {label: [float(ms) for ms in range(1, 21)] for label in ("tiny", "flaky")}
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[2.0]]}, single=single, mode=("inference",))
    assert "latency_p50" not in read_csv(made)[0]
    asked = replace(made, comparisons=[replace(one, metric="latency_p50")
                                       for one in made.comparisons])  # fmt: skip
    assert float(read_csv(asked)[0]["latency_p50"]) == pytest.approx(10.0)
    for report in (details, markdown):
        assert re.search(r"latency p50.*\n.*\n.*\b10 ms", on_screen(report(asked)))
    assert "Ratios of latency p50" in FORMATS["html"](asked)
