"""What nodes measured, read from values in files and from runs."""

from __future__ import annotations

import math

import pytest

from mbench.fleet.nodes import (
    CASE_FAILED,
    IMPOSSIBLE,
    MISSING,
    Fleet,
    MetricName,
    Node,
    Reading,
    ResultName,
)
from mbench.fleet.runs import read_run
from mbench.spec.learning import Learning


def test_values_are_kept_as_they_are():
    assert Reading.of([1, 2.5], unit="x/s").values == (1.0, 2.5)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, MISSING), (math.nan, IMPOSSIBLE), (math.inf, IMPOSSIBLE), (-1.0, IMPOSSIBLE),
        (0, IMPOSSIBLE), ("fast", IMPOSSIBLE), (True, IMPOSSIBLE), (10**400, IMPOSSIBLE),
        ([], IMPOSSIBLE), (10**5000, IMPOSSIBLE),
    ],
    ids=lambda value: f"{value!r:.12}" if not isinstance(value, int) else "a number",
)  # fmt: skip
def test_what_cannot_be_a_value_is_a_problem_with_its_reason(value, problem):
    found = Reading.of([1.0, value])
    assert (found.problem, found.values) == (problem, ())
    assert found.reason.startswith("the value is ")
    assert len(found.reason) < 80
    assert Reading.of([]).problem == MISSING


def test_nodes_are_in_the_order_of_their_numbers():
    names = ["n10", "n2", "n", "a", "n2b"]
    assert [node.name for node in Fleet.of(map(node_of, names)).nodes] == [
        "a", "n", "n2", "n2b", "n10"]  # fmt: skip
    with pytest.raises(ValueError, match="two nodes are called 'a'"):
        Fleet.of(map(node_of, ["a", "b", "a"]))


def node_of(name):
    return Node(name=name)


def test_a_run_is_read_as_a_measurement_of_a_node(folder):
    run = read_run(folder)
    assert (run.host, run.machine["processor"], run.problem) == ("here", "EPYC", "")
    (tiny, flaky) = run.readings.items()
    assert tiny[0].case.startswith("tiny: tiny-model train, batch 8")
    assert "threads" not in tiny[0].case, "it was not asked for"
    assert tiny[0].metric == "throughput"
    assert len(tiny[1].values) == 2
    assert tiny[1].better == "higher"
    assert flaky[1].problem == CASE_FAILED
    assert flaky[1].reason == "crashed: gone"
    assert run.threads[tiny[0].case] == 1
    assert run.computed[tiny[0].case].software["tiny"] == "1.2"


def test_runs_that_measure_no_node_are_left_out(write_run):
    calibrated = write_run(seconds={"tiny": [[1.0]]}, arguments=["mbench", "calibrate", "tiny"])
    assert read_run(calibrated) is None
    trained = write_run(seconds={"tiny": [[1.0]]}, protocol=Learning())
    assert read_run(trained) is None
    named_so = ["mbench", "compare", "tiny", "flaky", "--results", "calibrate"]
    assert read_run(write_run(seconds={"tiny": [[1.0]]}, arguments=named_so)) is not None


def test_the_driver_of_a_node_is_part_of_its_software(write_run):
    gpu = {"name": "H100", "driver_version": "570.86.10"}
    run = read_run(write_run(seconds={"tiny": [[1.0]]}, system={"gpus": [gpu, gpu]}))
    assert run.software["driver"] == "570.86.10"
    assert run.machine["devices"] == "2 x H100"


def test_another_metric_is_read_where_it_is_asked_for(folder):
    assert {name.metric for name in read_run(folder, metric="latency_mean").readings} == {
        "latency_mean"
    }


def test_losses_are_known_by_their_step(folder):
    name = MetricName(case=next(iter(read_run(folder).computed)), metric="throughput")
    results = read_run(folder).computed[name.case].results
    assert all(isinstance(result, ResultName) for result in results)


def test_what_is_not_a_run_is_a_run_with_a_problem(tmp_path):
    (tmp_path / "run.jsonl").write_text('{"event":"run","schema":99,"mbench":"9.0"}\n')
    found = read_run(tmp_path)
    assert not found.readings
    assert "written by mbench 9.0 (schema 99)" in found.problem


@pytest.fixture
def folder(write_run):
    from mbench.engine.outcome import CaseEnded

    return write_run(
        seconds={"tiny": [[1.0, 1.1], [1.2]], "flaky": [[2.0]]},
        single={"tiny": [5.0, 6.0]},
        ends={"flaky": CaseEnded("crashed", "gone")},
        system={"hostname": "here", "cpu": "EPYC"},
    )
