"""`mbench fleet` as users type it, and its functions in Python."""

from __future__ import annotations

import json
import random
import shutil

import pytest
from click.testing import CliRunner
from fleets import closed

import mbench
from mbench.cli.main import group


@pytest.fixture
def fleet(write_run, tmp_path):
    """Six nodes, the last of which is slow. Gives a function that adds its second run, and returns
    the folder of the fleet.
    """
    made = write_run(seconds={"tiny": [[1.0, 1.01], [1.005, 1.0], [0.995, 1.0]]})
    lines = [json.loads(line) for line in (made / "run.jsonl").read_text().splitlines()]

    def node(name, run, times):
        folder = tmp_path / "fleet" / name / run
        folder.mkdir(parents=True)
        text = []
        for line in lines:
            changed = dict(line)
            if line["event"] == "run":
                changed |= {"id": run, "system": {**line["system"], "hostname": name}}
            if line["event"] == "block":
                changed["nanoseconds"] = [round(times * n) for n in line["nanoseconds"]]
            text.append(changed)
        (folder / "run.jsonl").write_text(closed(text))

    for at, name in enumerate(("n1", "n2", "n3", "n4", "n5", "<b>n6")):
        node(name, f"r{at}", 1.5 if name == "<b>n6" else 1 + at / 1000)

    def again():
        node("<b>n6", "r9", 1.5)
        return tmp_path / "fleet"

    return again


def run(*words):
    return CliRunner().invoke(group, ["fleet", *map(str, words)])


def test_the_first_line_is_the_answer_and_the_code_follows(fleet):
    done = run("diagnose", fleet())
    assert done.stdout.startswith("1 of 6 nodes is slow: <b>n6, 33")
    assert done.exit_code == 1


@pytest.mark.parametrize(("format_", "says"), [
    ("json", '"answer": "1 of 6 nodes is slow'), ("markdown", "**1 of 6 nodes is slow: &lt;b>n6"),
    ("html", "<h1>1 of 6 nodes is slow: &lt;b&gt;n6"), ("junit", 'tests="6" failures="1"'),
])  # fmt: skip
def test_every_format_says_the_same(fleet, tmp_path, format_, says):
    done = run("diagnose", fleet(), "--format", format_)
    assert says in done.stdout
    assert done.exit_code == 1
    file = tmp_path / "out"
    run("diagnose", tmp_path / "fleet", "--format", format_, "--output", file)
    assert file.read_text() == done.stdout


def test_a_summary_has_every_metric_and_node(fleet, tmp_path):
    done = run("summary", fleet(), "--format", "csv")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 7
    assert "6 nodes, 1 metric" in run("summary", tmp_path / "fleet").stdout


def test_a_summary_says_why_a_run_is_not_in_it(fleet, tmp_path):
    folder = fleet()
    (run_file,) = (folder / "n3").glob("*/run.jsonl")
    run_file.write_text(run_file.read_text()[:-40])
    document = json.loads(run("summary", folder, "--format", "json").stdout)
    assert list(document["broken"]) == ["n3"]
    (why,) = document["broken"]["n3"]
    said = " ".join(run("summary", folder).stdout.split())
    assert f"n3: {' '.join(why.split())}" in said


def test_a_baseline_of_superbench_asks_for_its_rules(fleet, tmp_path):
    file = tmp_path / "baseline.json"
    file.write_text('{"kernel-launch/event_time:0": 0.006, "mem-bw/h2d_bw:0": 25}')
    done = run("diagnose", fleet(), "--baseline", file)
    assert str(done.exception) == (
        f"{file} is a SuperBench baseline, which needs SuperBench's rules too: give them with "
        "--rules"
    )


def test_a_baseline_is_made_of_healthy_fleets_only(fleet, tmp_path):
    folder, file = fleet(), tmp_path / "baseline.json"
    done = run("baseline", folder, "--output", file)
    assert isinstance(done.exception, Exception)
    assert "leave these nodes out" in str(done.exception)
    assert not file.exists()
    assert run("baseline", folder, "--output", file, "--force").exit_code == 0
    done = run("diagnose", folder / "n1", "--baseline", file)
    assert done.stdout.startswith("the node is normal")
    assert done.exit_code == 0


def test_functions_give_what_the_commands_show(fleet, tmp_path):
    folder, file = fleet(), tmp_path / "baseline.json"
    document = json.loads(run("diagnose", folder, "--format", "json").stdout)
    found = mbench.diagnose(folder)
    assert {"answer": document["answer"], **found.to_json()} == document
    assert found.named("slow") == ["<b>n6"]
    assert found.exit_code == 1
    assert mbench.diagnose(str(folder), margin="50%").named("slow") == []
    shown = json.loads(run("summary", folder, "--format", "json").stdout)
    assert mbench.fleet_summary(folder).to_json() == shown
    with pytest.raises(mbench.MbenchError, match="leave these nodes out, or use "):
        mbench.fleet_baseline(folder, output=file)
    made = mbench.fleet_baseline(folder, output=file, force=True)
    assert json.loads(file.read_text())["nodes"] == made.nodes
    assert mbench.diagnose(folder / "n1", baseline=file).named("normal") == ["n1"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda folder: mbench.diagnose(), "give a folder of runs"),
        (lambda folder: mbench.diagnose(folder, margin=2), "margin: '2' has no unit: write 2%"),
        (lambda folder: mbench.diagnose(folder, rules=folder / "x", margin=0.1),
         "margin cannot be used with SuperBench's files"),
        (lambda folder: mbench.diagnose(folder / "none"), "there is no folder"),
        (lambda folder: mbench.fleet_baseline(folder, output="x", to_superbench=True, metric="a"),
         "metric cannot be used with SuperBench's files"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_the_keyword(fleet, call, said):
    with pytest.raises(mbench.UsageError, match=said):
        call(fleet())


def test_folders_in_any_order_give_the_same_bytes(fleet, tmp_path):
    """Neither the order in which files were written matters, nor that of the arguments."""
    folder = fleet()
    copy = tmp_path / "copy" / "fleet"
    nodes = sorted(folder.iterdir())
    shuffling = random.Random(3)
    for node in shuffling.sample(nodes, len(nodes)):
        for one in sorted(node.iterdir(), reverse=True):
            shutil.copytree(one, copy / node.name / one.name)
    for format_ in ("table", "json", "markdown", "html", "junit"):
        first = run("diagnose", folder, "--format", format_)
        assert run("diagnose", copy, "--format", format_).stdout == first.stdout
        for _ in range(3):
            mixed = shuffling.sample(nodes, len(nodes))
            assert run("diagnose", *mixed, "--format", format_).stdout == first.stdout
    for format_ in ("table", "json", "markdown", "csv"):
        first = run("summary", *nodes, "--format", format_).stdout
        assert run("summary", *reversed(nodes), "--format", format_).stdout == first
    made = []
    for at, places in enumerate((nodes, nodes[::-1])):
        file = tmp_path / f"baseline-{at}.json"
        assert run("baseline", *places, "--force", "--output", file).exit_code == 0
        made.append({**json.loads(file.read_text()), "made": ""})
    assert json.dumps(made[0]) == json.dumps(made[1])


def test_a_metric_that_no_run_has_is_refused_with_those_that_there_are(fleet):
    done = run("diagnose", fleet(), "--metric", "nonsense")
    assert str(done.exception).startswith("no metric is called 'nonsense'; available: throughput, ")


def test_a_share_that_may_not_be_zero_is_not_suggested(fleet):
    done = run("diagnose", fleet(), "--false-alarms", "0")
    assert done.exit_code == 2
    assert "write 0%" not in done.stderr
    assert "write 0%" in run("diagnose", "x", "--margin", "0").stderr
