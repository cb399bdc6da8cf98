"""From measured runs to SuperBench's files and back: export, summary, baseline and diagnosis."""

from __future__ import annotations

import json
import statistics

import pytest
from click.testing import CliRunner
from fleets import closed

import mbench
from mbench.cli.main import group

pytestmark = pytest.mark.extras  # PyYAML
RULES = r"""
version: v0.12
superbench:
  rules:
    slow:
      function: variance
      criteria: "lambda x: x < -0.05"
      categories: Model
      metrics:
        - BENCHMARK/.*_train_throughput
"""
SUMMARY = """
version: v0.12
superbench:
  rules:
    speed:
      statistics: [count, mean, min, max, p50]
      categories: Model
      metrics:
        - BENCHMARK/.*_train_throughput
"""


def command(*words):
    done = CliRunner().invoke(group, [str(word) for word in words])
    error = done.exception
    code = getattr(error, "exit_code", done.exit_code)
    return code, done.stdout


@pytest.fixture
def fleet(write_run, tmp_path):
    """Six nodes, of which n5 is a third slower."""
    made = write_run(seconds={"tiny": [[1.0, 1.01], [1.005, 1.0], [0.995, 1.0]]})
    lines = (made / "run.jsonl").read_text().splitlines()
    for at in range(6):
        folder = tmp_path / "fleet" / f"n{at}" / f"r{at}"
        folder.mkdir(parents=True)
        times = 1.5 if at == 5 else 1 + at / 1000
        text = []
        for line in map(json.loads, lines):
            if line["event"] == "run":
                line = {**line, "id": f"r{at}", "system": {**line["system"], "hostname": f"n{at}"}}
            if line["event"] == "block":
                line = {**line, "nanoseconds": [round(times * n) for n in line["nanoseconds"]]}
            text.append(line)
        (folder / "run.jsonl").write_text(closed(text))
    return tmp_path / "fleet"


def test_runs_go_to_superbench_and_come_back(fleet, tmp_path):
    results, rules, summary, baseline = (
        tmp_path / name
        for name in ("results-summary.jsonl", "rules.yaml", "summary.yaml", "baseline.json")
    )
    runs = sorted(fleet.glob("*/*"))
    assert command("export", *runs, "--to", "superbench", "--output", results)[0] == 0
    nodes = [json.loads(line) for line in results.read_text().splitlines()]
    assert [node["node"] for node in nodes] == [f"n{at}" for at in range(6)]
    (metric,) = {name for node in nodes for name in node if name.endswith("train_throughput")}
    benchmark = metric.partition("/")[0]
    rules.write_text(RULES.replace("BENCHMARK", benchmark))
    summary.write_text(SUMMARY.replace("BENCHMARK", benchmark))
    speeds = [node[metric] for node in nodes]
    for node, run in zip(nodes, runs, strict=True):
        case = mbench.read(run).document["cases"][0]
        assert node[metric] == pytest.approx(case["throughput"]["value"], rel=1e-6)

    code, shown = command("fleet", "summary", results, "--rules", summary, "--format", "json")
    assert code == 0
    values = {row["statistic"]: row["value"] for row in json.loads(shown)["rows"]}
    assert values["count"] == 6
    assert values["mean"] == pytest.approx(statistics.mean(speeds))
    assert values["p50"] == pytest.approx(statistics.median(speeds))
    assert (values["min"], values["max"]) == (min(speeds), max(speeds))

    made = command("fleet", "baseline", results, "--to-superbench", "--force", "--output", baseline)
    assert made[0] == 0
    assert json.loads(baseline.read_text())[metric] == pytest.approx(statistics.median(speeds))

    words = ("--rules", rules, "--baseline", baseline, "--format", "json")
    code, shown = command("fleet", "diagnose", results, *words)
    assert code == 1
    found = {node["name"]: node["verdict"] for node in json.loads(shown)["nodes"]}
    assert found == {**{f"n{at}": "accepted" for at in range(5)}, "n5": "defective"}
    code, of_runs = command("fleet", "diagnose", fleet, *words)
    assert {node["name"]: node["verdict"] for node in json.loads(of_runs)["nodes"]} == found

    by_statistics = mbench.diagnose(results)
    assert by_statistics.named("suspect") == ["n5"], "by statistics, the same file says the same"


def test_a_run_that_broke_off_is_not_judged_and_ends_no_other(fleet, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.replace("variance", "value").replace("BENCHMARK", "model-benchmarks"))
    (file,) = (fleet / "n2").glob("*/run.jsonl")
    file.write_text(file.read_text()[:-200])
    code, shown = command("fleet", "diagnose", fleet, "--rules", rules, "--format", "json")
    found = {node["name"]: node["verdict"] for node in json.loads(shown)["nodes"]}
    assert code == 1
    assert found == {**{f"n{at}": "accepted" for at in range(6)}, "n2": "not judged"}
