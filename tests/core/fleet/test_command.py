"""`mbench fleet` as it is typed."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mbench.cli.main import group


@pytest.fixture
def fleet(write_run, tmp_path):
    """Six nodes of which the last is slow; `again` adds its second run."""
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
            text.append(json.dumps(changed))
        (folder / "run.jsonl").write_text("\n".join(text) + "\n")

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


def test_a_baseline_is_made_of_healthy_fleets_only(fleet, tmp_path):
    folder, file = fleet(), tmp_path / "baseline.json"
    done = run("baseline", folder, "--output", file)
    assert isinstance(done.exception, Exception)
    assert "leave such nodes out" in str(done.exception)
    assert not file.exists()
    assert run("baseline", folder, "--output", file, "--force").exit_code == 0
    done = run("diagnose", folder / "n1", "--baseline", file)
    assert done.stdout.startswith("the node is normal")
    assert done.exit_code == 0
