"""The commands with SuperBench's files, summaries and baselines: from files to output."""

from __future__ import annotations

import json
import statistics

import pytest
from click.testing import CliRunner
from superbench_files import Files

from mbench.cli.main import group
from mbench.fleet.superbench.baseline import read_baseline
from mbench.fleet.superbench.results import read_results
from mbench.fleet.superbench.rules import read_summary_rules
from mbench.fleet.superbench.runs import ambiguous, lines_of
from mbench.fleet.superbench.summary import summarize

pytestmark = pytest.mark.extras  # PyYAML


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def mbench(*words):
    return CliRunner().invoke(group, [str(word) for word in words])


RULES = "low:\n  function: value\n  criteria: lambda x:x<20\n  categories: Mem\n" \
        "  metrics: mem-bw/h2d_bw\n"  # fmt: skip
NASTY = "<b>\x1b[2J|n1&"


@pytest.mark.parametrize("format_", ["table", "json", "markdown", "html", "junit"])
def test_diagnose_by_rules_in_every_format(files, format_):
    rules = files.rules(RULES)
    nodes = {NASTY: {"mem-bw/h2d_bw": 5.0}, "n2": {"mem-bw/h2d_bw": "x"}, "n3": {
        "mem-bw/h2d_bw": 25.0}}  # fmt: skip
    ran = mbench("fleet", "diagnose", files.results(nodes), "--rules", rules, "--format", format_)
    assert ran.exit_code == 1, ran.output
    assert "\x1b" not in ran.stdout
    assert "n2" in ran.stdout
    if format_ in ("html", "junit"):
        assert "<b>" not in ran.stdout
    if format_ == "json":
        found = json.loads(ran.stdout)
        assert found["counts"] == {"defective": 1, "not judged": 1, "accepted": 1}
        assert found["remarks"][0]["code"] == "S103"


def test_a_bad_file_of_rules_ends_with_2_and_one_line(files):
    rules = files.rules(RULES.replace("x<20", "open('executed','w')"))
    results = files.results({"n1": {"mem-bw/h2d_bw": 25.0}})
    ran = mbench("fleet", "diagnose", results, "--rules", rules)
    assert getattr(ran.exception, "exit_code", ran.exit_code) == 2
    assert f"{rules}, line 6, superbench.rules.low.criteria" in str(ran.exception)
    assert not list(files.folder.glob("executed"))


def test_accepted_nodes_end_with_0(files):
    results = files.results({"n1": {"mem-bw/h2d_bw": 25.0}})
    ran = mbench("fleet", "diagnose", files.folder, "--rules", files.rules(RULES))
    assert ran.exit_code == 0, ran.output
    assert "all 1 node pass the rules" in ran.stdout
    ran = mbench("fleet", "diagnose", results, "--rules", files.rules(RULES), "--margin", "1%")
    assert getattr(ran.exception, "exit_code", ran.exit_code) == 2


SUMMARY = """
a:
  statistics: [count, mean, min, max, p50, std]
  categories: Mem
  aggregate: True
  metrics: mem-bw/h2d_bw
b:
  statistics: mean
  categories: Mem
  aggregate: ib-loopback/ib_write_.*_ib(\\d+)_bw
  metrics: ib-loopback/ib_write_.*
c:
  statistics: max
  categories: Model
  aggregate: True
  metrics: model-benchmarks:stress/.*
"""


def test_a_summary_keeps_what_superbench_loses(files):
    names = [f"model-benchmarks:stress/pytorch-lstm/fp{bits}_train_throughput" for bits in (16, 32)]
    nodes = {
        f"n{number}": {"mem-bw/h2d_bw:0": 24.0 + number, "mem-bw/h2d_bw:1": 25.0,
                       "ib-loopback/ib_write_8_ib0_bw": 10.0, "ib-loopback/ib_write_8_ib1_bw": 20.0,
                       names[0]: 1.0 + number, names[1]: 5.0}
        for number in range(3)
    }  # fmt: skip
    nodes["n3"] = {"mem-bw/h2d_bw:0": float("nan")}
    found = summarize(read_results(files.results(nodes)), read_summary_rules(files.rules(SUMMARY)))
    values = {(row.metric, row.statistic): row.value for row in found.rows}
    numbers = [24.0, 25.0, 26.0, 25.0, 25.0, 25.0]
    assert values["mem-bw/h2d_bw", "count"] == 6
    assert values["mem-bw/h2d_bw", "mean"] == pytest.approx(statistics.mean(numbers))
    assert values["mem-bw/h2d_bw", "std"] == pytest.approx(statistics.stdev(numbers))
    assert values["mem-bw/h2d_bw", "p50"] == 25
    assert values["ib-loopback/ib_write_8_ib*_bw", "mean"] == 15
    assert [values[name, "max"] for name in names] == [3, 5]
    assert [one.code for one in found.remarks] == ["S301", "S302", "S304"]
    for format_ in ("table", "json", "markdown", "csv"):
        ran = mbench("fleet", "summary", files.folder, "--rules", files.folder / "rules.yaml",
                     "--format", format_)  # fmt: skip
        assert ran.exit_code == 0, ran.output
        assert "ib_write_8_ib*_bw" in ran.stdout.replace("\\", "")


def test_a_baseline_is_written_and_read(files):
    nodes = {f"n{n}": {"mem-bw/h2d_bw:0": 25.0 + n, "a/return_code": 0} for n in range(5)}
    output = files.folder / "made.json"
    ran = mbench("fleet", "baseline", files.results(nodes), "--to-superbench", "--force",
                 "--output", output)  # fmt: skip
    assert ran.exit_code == 0, ran.output
    assert json.loads(output.read_text()) == {"a/return_code": 0, "mem-bw/h2d_bw:0": 27}
    assert read_baseline(output).of("mem-bw/h2d_bw:0") == (27.0, "")


def test_results_of_superbench_are_diagnosed_by_statistics_too(files):
    nodes = {f"n{n}": {"mem-bw/h2d_bw:0": 25.0 + n / 100, "a/return_code": 0} for n in range(9)}
    nodes["n4"]["mem-bw/h2d_bw:0"] = 15.0
    nodes["n5"]["a/return_code"] = 3
    ran = mbench("fleet", "diagnose", files.results(nodes), "--format", "json")
    assert ran.exit_code == 1, ran.output
    verdict = {node["name"]: node["verdict"] for node in json.loads(ran.stdout)["nodes"]}
    assert (verdict["n4"], verdict["n5"], verdict["n0"]) == ("suspect", "failed", "normal")


def test_names_that_superbench_would_mix_up_are_named():
    names = ["model-benchmarks:batch-size-16/tiny-lstm/fp32_train_throughput", "mem-bw/h2d_bw:0"]
    assert "tiny-lstm" in ambiguous(names)
    assert ambiguous(names[1:]) == ""
    assert json.loads(lines_of({"n1": {"a/b": 1.5}})) == {"a/b": 1.5, "node": "n1"}
