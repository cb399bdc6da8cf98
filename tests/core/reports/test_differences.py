"""Diffs as people and machines read them, and the gate's exit code."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from screens import on_screen
from summaries import with_case

from mbench.cli.main import group
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.reports import differences
from mbench.results.difference import differ

STEADY = [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02], [1.0, 0.99], [1.01, 1.0]]


@pytest.fixture
def runs(write_run):
    """A base run, and a new run in which tiny is half as fast and flaky has crashed."""
    base = write_run(seconds={"tiny": STEADY, "flaky": STEADY})
    new = write_run(
        seconds={"tiny": [[2 * s for s in p] for p in STEADY], "flaky": []},
        ends={"flaky": CaseEnded("crashed", "gone <script>")},
    )
    return base, new


@pytest.fixture
def diff():
    def diff(*arguments):
        words = ["diff", *map(str, arguments), "--allow-unchecked"]
        return CliRunner().invoke(group, words)

    return diff


def test_a_regression_fails_the_build(diff, runs):
    base, new = runs
    found = diff(base, new)
    assert found.exit_code == 1
    assert found.stdout.startswith(
        "gate FAILED: 1 of 2 cases slower by more than 3 %, 1 not measured (from "
    )
    assert found.stderr == "", "the line is there once"
    assert "FAILED, slower" in " ".join(found.stdout.split())


def test_the_same_run_passes(diff, runs):
    found = diff(runs[0], runs[0])
    assert found.exit_code == 0
    assert found.stdout.startswith("gate passed: 2 of 2 cases no more than 3 % slower (from ")


def test_a_larger_allowance_lets_it_pass(diff, write_run):
    base = write_run(seconds={"tiny": STEADY})
    new = write_run(seconds={"tiny": [[1.1 * s for s in p] for p in STEADY]})
    assert diff(base, new).exit_code == 1
    assert diff(base, new, "--fail-if-slower", "20%").exit_code == 0


def test_nothing_compared_is_no_success(diff, write_run):
    end = {"tiny": CaseEnded("oom", "too large")}
    base = write_run(seconds={"tiny": []}, ends=end)
    found = diff(base, base)
    assert found.exit_code == 3
    assert found.stdout.startswith("gate inconclusive: there is no case to judge")


def test_a_gate_that_sees_nothing_does_not_pass(diff, write_run, tmp_path):
    single, path = [[1.0, 1.01]], tmp_path / "diff.xml"
    base = write_run(seconds={"tiny": single, "flaky": STEADY})
    new = write_run(seconds={"tiny": single, "flaky": STEADY})
    found = diff(base, new)
    assert found.exit_code == 3
    assert found.stdout.startswith(
        "gate inconclusive: 1 of 2 cases precise enough to see 3 % (from "
    )
    assert diff(base, new, "-o", path).exit_code == 3
    suite = ElementTree.parse(path).getroot()[0]
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == ["0", "1", "0"]
    (error,) = suite.findall("testcase/error")
    assert "about 3 in each run would be enough: --processes 3" in error.get("message")


def test_what_is_not_precise_enough_can_be_allowed(diff, write_run, tmp_path):
    single, path = [[1.0, 1.01]], tmp_path / "diff.xml"
    run = write_run(seconds={"tiny": single, "flaky": STEADY})
    found = diff(run, run, "--allow-inconclusive", "-o", path)
    assert found.exit_code == 0
    assert found.stderr.startswith(
        "mbench: gate passed: 1 of 2 cases no more than 3 % slower, 1 inconclusive, which is "
    )
    suite = ElementTree.parse(path).getroot()[0]
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == ["0", "0", "1"]


def test_no_allowance_lets_a_gate_pass_in_which_nothing_was_seen(diff, write_run):
    base = write_run(seconds={"tiny": [[1.0]]})
    new = write_run(seconds={"tiny": [[1.5]]})
    found = diff(base, new, "--allow-inconclusive")
    assert found.exit_code == 3
    assert found.stdout.startswith("gate inconclusive: 0 of 1 case precise enough to see 3 %")


@pytest.mark.parametrize("text", ["x%", "-1%", "100%", "3%%", "nan%", ""])
def test_allowances_that_are_none_are_refused(diff, runs, text):
    found = diff(*runs, f"--fail-if-slower={text}")
    assert found.exit_code == 2
    assert "is not a percentage like 2%" in found.stderr


def test_json_is_the_document(diff, runs):
    found = json.loads(diff(*runs, "--format", "json").stdout)
    assert [case["verdict"] for case in found["cases"]] == ["slower", "not comparable"]
    assert found["cases"][0]["ratio"] == pytest.approx(0.5)


def test_markdown_is_for_a_pull_request(diff, runs):
    shown = diff(*runs, "--format", "markdown").stdout
    assert "| FAILED, slower |" in shown
    assert "| -50.0 % | -5" in shown
    assert "<script" not in shown


def test_junit_is_for_ci(diff, runs, tmp_path):
    path = tmp_path / "diff.xml"
    found = diff(*runs, "--format", "junit", "--output", path)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert found.stderr.startswith("mbench: gate FAILED: ")
    suite = ElementTree.parse(path).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "2", "0")
    slower, gone = suite
    assert slower[0].tag == gone[0].tag == "failure"
    assert "slower; -50.0 %" in slower[0].get("message")
    assert "crashed in the new run: gone <script>" in gone[0].get("message")


def test_junit_has_an_error_for_what_cannot_be_compared(summary):
    one, two = (summary(seconds={"tiny": STEADY}) for _ in range(2))
    two = with_case(two, 0, flops_per_sample=1.0)
    text = differences.junit(differ(one, two, fail_if_slower=0.03))
    assert ElementTree.fromstring(text.partition("\n")[2])[0].get("errors") == "1"


def test_hostile_names_are_text_in_every_format(summary, harm):
    one, two = (with_case(summary(seconds={"tiny": STEADY}), 0, label="tiny" + harm)
                for _ in range(2))  # fmt: skip
    found = differ(one, two, fail_if_slower=0.03)
    for name, report in differences.FORMATS.items():
        assert "\x1b" not in on_screen(report(found)), name
    assert "<script" not in differences.markdown(found)
    ElementTree.fromstring(differences.junit(found).partition("\n")[2])


def test_a_run_that_is_none_is_refused_in_one_line(diff, runs, tmp_path):
    found = diff(runs[0], tmp_path / "nowhere")
    assert isinstance(found.exception, MbenchError)
