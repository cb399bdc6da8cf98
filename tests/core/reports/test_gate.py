"""The gate of a run in every report: its line comes first where people read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from screens import on_screen

from mbench.cli.main import group
from mbench.engine.outcome import CaseEnded
from mbench.reports.formats import FORMATS
from mbench.results.run import load_run
from mbench.results.summary import analyse

SECONDS = {
    "tiny": [[0.1] * 3, [0.101] * 3, [0.1] * 3],
    "flaky": [[0.2] * 3, [0.201] * 3, [0.2] * 3],
}
LINE = "gate FAILED: 1 of 1 case slower by more than 3 %"


@pytest.fixture
def gated(write_run):
    def gated(**made):
        return analyse(load_run(write_run(**made)), fail_if_slower=0.03)

    return gated


@pytest.mark.parametrize("format_", ["table", "details", "markdown"])
def test_the_line_is_the_first_and_is_there_once(gated, format_):
    text = on_screen(FORMATS[format_](gated(seconds=SECONDS)))
    assert text.startswith(f"{LINE}\n")
    assert text.count("gate ") == 1


def test_the_page_and_the_document_have_it(gated):
    summary = gated(seconds=SECONDS)
    assert LINE in FORMATS["html"](summary)
    assert summary.to_json()["gate"]["outcome"] == "failed"


def test_junit_has_a_test_for_each_framework_against_the_first(gated):
    made = {**SECONDS, "tiny==1.1": [], "tiny==1.2": SECONDS["tiny"]}
    summary = gated(seconds=made, ends={"tiny==1.1": CaseEnded("crashed", "gone")})
    suite = ElementTree.fromstring(FORMATS["junit"](summary).partition("\n")[2])[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "2", "0"]
    slower, gone, same = suite
    assert slower.get("name").startswith("flaky against tiny: tiny-model train, batch 8")
    assert slower[0].get("message").startswith("failed; slower; ")
    assert gone[0].get("message").startswith("failed; not measured; ")
    assert "gone" in gone[0].get("message")
    assert same[0].text.startswith("passed; ")


def test_cases_of_several_compilers_are_told_apart(gated):
    one, other = gated(seconds=SECONDS, compiler=("eager", "steady")).gate.cases
    assert one.case.endswith(", eager")
    assert other.case == one.case.removesuffix("eager") + "steady"
    (alone,) = gated(seconds=SECONDS, compiler=("steady",)).gate.cases
    assert alone.case + ", steady" == other.case


def test_what_is_not_precise_enough_has_its_next_step(write_run):
    noisy = {"tiny": [[0.1], [0.13], [0.09], [0.11]], "flaky": [[0.1], [0.09], [0.13], [0.1]]}
    run = load_run(write_run(seconds=noisy, set_seconds=10.0))
    summary = analyse(run, fail_if_slower=0.03)
    assert summary.gate.exit_code == 3
    step = summary.comparisons[0].next_step
    assert step.half_width == 0.05, "what tells a ratio of 1.05 from 0.97"
    said = " ".join(on_screen(FORMATS["table"](summary)).split())
    assert f"{step.command} --fail-if-slower 3%" in said


def test_without_a_gate_junit_has_a_test_for_each_case(summary):
    made = summary(seconds={**SECONDS, "flaky": []}, ends={"flaky": CaseEnded("oom", "too large")})
    suite = ElementTree.fromstring(FORMATS["junit"](made).partition("\n")[2])[0]
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "0"]
    assert suite.find("testcase/failure").get("message") == "oom: too large"


@pytest.mark.parametrize(
    ("given", "code"),
    [(["--fail-if-slower", "3%"], 1), (["--fail-if-slower", "60%"], 0),
     (["--fail-if-slower", "50%"], 3), ([], 0)],
)  # fmt: skip
def test_a_stored_run_is_gated_as_a_new_one_is(write_run, given, code):
    folder = write_run(seconds=SECONDS)
    found = CliRunner().invoke(group, ["show", str(folder), *given])
    assert found.exit_code == code, found.output
    assert found.stdout.startswith("gate ") == bool(given)
    assert found.stderr == "", "the line is there once"


def test_the_gate_of_a_stored_run_is_on_stderr_where_a_program_reads_the_report(write_run):
    words = ["show", str(write_run(seconds=SECONDS)), "--fail-if-slower", "3%", "--format", "json"]
    found = CliRunner().invoke(group, words)
    assert found.exit_code == 1
    assert found.stderr == f"mbench: {LINE}\n"
    assert json.loads(found.stdout)["gate"]["outcome"] == "failed"
