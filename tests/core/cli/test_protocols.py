"""Protocols as a user meets them: real workers, through the command line."""

from __future__ import annotations

import json

import pytest
from support import commands

from mbench.cli.compare import command
from mbench.spec.options import EFFORTS
from mbench.spec.presets import PRESETS

CASE = ["--frameworks", "tiny,tiny", "--models", "tiny-model", "--threads", "1", "--no-verify"]
CASE += ["--no-mfu"]


def compare(folder, *arguments):
    return commands.mbench("compare", *CASE, *arguments, cwd=folder)


@pytest.mark.parametrize(
    ("options", "blocks"),
    [
        (["--protocol", "dlperf", "--processes", "2", "--steps", "9"], [9]),
        (["--protocol", "superbench", "--steps", "30", "--warmup-steps", "5"], [30]),
        (["--protocol", "nvidia", "--steps", "10", "--mode", "inference"], [10, 10]),
    ],
)
def test_a_published_protocol_counts_steps_and_claims_no_interval(tmp_path, options, blocks):
    result = compare(tmp_path, *options, "--format", "json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["protocol"]["name"] == options[1]
    for case in document["cases"]:
        assert case["outcome"] == "ok"
        assert case["throughput"]["low"] is None
        assert case["processes"] == document["protocol"]["processes"]
    (comparison,) = document["comparisons"]
    assert comparison["ratio"] > 0
    assert comparison["low"] is comparison["high"] is None
    assert comparison["verdict"] == "undetermined"
    assert "one case after the other" in comparison["undetermined"]
    (path,) = (tmp_path / "results").rglob("run.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    timed = [e for e in events if e["event"] == "block" and (e["case"], e["process"]) == (0, 0)]
    rounds = sorted({event["round"] for event in timed})
    assert [sum(e["steps"] for e in timed if e["round"] == at) for at in rounds] == blocks


def test_until_measures_on_and_says_why_it_stopped(tmp_path):
    options = ["--processes", "2", "--max-processes", "3", "--until", "0.001%", "--rounds", "1"]
    result = compare(tmp_path, *options, "--block", "0.02")
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stdout.split())
    if "of 3 process pairs have an undisturbed round" in said:
        pytest.skip("the machine is so disturbed that no interval is shown")
    assert "3 pairs of fresh processes" in said
    assert "; intervals within ±" in said
    assert "% where ±0.001 % was requested" in said


def test_the_help_tells_the_constants_as_they_are():
    helps = {p.name: p.help for p in command.params}
    ours = PRESETS["adaptive"]
    others = f"explain {PRESETS['explain'].processes}, dlperf {PRESETS['dlperf'].processes},"
    assert f"[default: {ours.processes}; {others}" in helps["processes"]
    assert f"{ours.fewest_rounds} to {ours.most_rounds};" in helps["rounds"]
    assert f"[default: {ours.block_seconds:g};" in helps["block"]
    assert f"[default: {ours.budget_seconds:g};" in helps["budget"]
    assert f"[default: {ours.most_processes}]" in helps["max_processes"]
    for name in ("dlperf", "superbench", "nvidia"):
        assert f"{name} {PRESETS[name].steps}" in helps["steps"]
    for name in ("dlperf", "superbench"):
        assert f"{name} {PRESETS[name].warmup_steps}" in helps["warmup_steps"]
    assert f"nvidia {PRESETS['nvidia'].epochs}" in helps["epochs"]
    fast, rigorous = EFFORTS["fast"], EFFORTS["rigorous"]
    assert f"{fast['processes']} processes in about {fast['budget']:g} s" in helps["fast"]
    assert f"{rigorous['processes']} processes or more" in helps["rigorous"]
    assert f"within {rigorous['until']:.0%}" in helps["rigorous"]
    assert f"at most {rigorous['budget']:g} s" in helps["rigorous"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fast", "--rigorous"], "--fast and --rigorous contradict each other"),
        (["--until", "2"], "'2' has no unit: write 2%"),
        (["--until", "200%"], "not a percentage"),
        (["--until", "nan%"], "not a percentage"),
        (["--protocol", "dlperf", "--budget", "9"], "--budget is not for the protocol dlperf"),
        (["--max-processes", "9"], "--max-processes limits --until"),
    ],
)
def test_what_contradicts_is_one_line_and_measures_nothing(tmp_path, options, words):
    result = compare(tmp_path, *options)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "results").exists()
