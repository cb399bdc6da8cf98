"""Metrics of runs: their values, ratios in the right direction, and why some have none."""

from __future__ import annotations

import pytest

from mbench.contract.metric import LOWER, METRICS, Metric
from mbench.errors import UsageError
from mbench.results.database import files_of
from mbench.results.difference import differ
from mbench.results.history import trace
from mbench.results.metrics import is_trusted
from mbench.results.run import load_run
from mbench.results.summary import analyse
from mbench.scenarios.base import ScenarioBase
from mbench.spec.build import protocol_of

BOTH = {"tiny": [[1.0, 1.0]] * 3, "flaky": [[1.0, 1.0]] * 3}


def sample(at, joules):
    return {
        "at_nanoseconds": at, "worker_seconds": 0.0, "busy_seconds": 0.0, "stolen_seconds": 0.0,
        "available_bytes": 2**30, "joules": joules,
    }  # fmt: skip


def watched(joules):
    """Samples of two blocks in each of three processes; each block takes about `joules`."""
    return [[[sample(0, 0.0), sample(10**9, joules * (1 + at / 100))]] * 2 for at in range(3)]


def with_single_steps(folder, milliseconds):
    """Add steps timed one by one to every round of a made-up run, and return its folder."""
    path = folder / "run.jsonl"
    lines = []
    for line in path.read_text().splitlines():
        lines.append(line)
        for label, (case, steps) in milliseconds.items():
            if line.startswith('{"event":"block"') and f'"case":{case},' in line:
                process = int(line.partition('"process":')[2].partition(",")[0])
                times = [round(ms * 1e6 * (1 + process / 200)) for ms in steps]
                before, _, after = line.partition('"each":false,"steps":10')
                head, _, _ = after.partition('"nanoseconds":')
                lines.append(
                    f'{before}"each":true,"steps":{len(times)}{head}"nanoseconds":{times},'
                    '"ranks":[]}'
                )
                assert label
    path.write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def timed(write_run):
    """A function that writes a run: steps of 2 ms against 1 ms, with the same throughput."""

    def timed(tiny=2.0, flaky=1.0, **more):
        folder = write_run(seconds=BOTH, mode=("inference",), **more)
        return with_single_steps(folder, {"tiny": (0, [tiny] * 20), "flaky": (1, [flaky] * 20)})

    return timed


@pytest.mark.parametrize("name", ["latency_mean", "latency_p50", "latency_p90", "latency_p95"])
def test_a_lower_latency_is_faster(timed, name):
    summary = analyse(load_run(timed()), name)
    (pair,) = summary.comparisons
    assert pair.metric == name
    assert pair.ratio == pytest.approx(2)
    assert (pair.low, pair.high) == pytest.approx((2, 2))
    assert pair.verdict == "faster", "flaky's steps take half the time"
    tiny, flaky = (case.metrics[name] for case in summary.cases)
    assert (tiny.value, flaky.value) == pytest.approx((2.01, 1.005), rel=1e-4)
    assert tiny.unit == "ms"


def test_without_a_word_it_is_throughput(timed):
    (pair,) = analyse(load_run(timed())).comparisons
    assert (pair.metric, pair.verdict) == ("throughput", "alike")


def test_what_a_run_was_asked_for_is_what_it_shows(write_run):
    asked = protocol_of({"metric": "latency_p50"})
    assert asked.single_steps, "or there would be none in training"
    assert not protocol_of({"metric": "throughput"}).single_steps
    (pair,) = analyse(load_run(write_run(seconds=BOTH, protocol=asked))).comparisons
    assert pair.metric == "latency_p50"


def test_training_has_no_latency_unless_its_steps_are_timed_one_by_one(write_run):
    summary = analyse(load_run(write_run(seconds=BOTH)), "latency_p50")
    (pair,) = summary.comparisons
    why = "no step of train was timed on its own; --single-steps does that"
    assert pair.reason == f"tiny has no latency p50: {why}"
    assert (pair.ratio, pair.verdict) == (None, None)
    assert summary.cases[0].metrics_lacking["latency_p50"] == why


def test_a_percentile_says_how_many_steps_it_takes(timed):
    case = analyse(load_run(timed())).cases[0]
    assert case.metrics_lacking["latency_p99"] == "it needs 100 such steps in each process"


def test_less_energy_is_better(write_run):
    folder = write_run(seconds=BOTH, watched={"tiny": watched(80.0), "flaky": watched(160.0)})
    summary = analyse(load_run(folder), "joules_per_sample")
    assert summary.cases[0].metrics["joules_per_sample"].processes == pytest.approx(
        [80 / 80, 80.8 / 80, 81.6 / 80]
    )
    (pair,) = summary.comparisons
    assert pair.ratio == pytest.approx(0.5)
    assert pair.verdict == "slower"
    words = summary.metrics["joules_per_sample"]
    assert (words.better, words.faster, words.slower) == ("lower", "better", "worse")


def test_a_diff_can_be_gated_on_latency(timed):
    base, new = (analyse(load_run(timed(tiny=ms))) for ms in (1.0, 1.2))
    found = differ(base, new, fail_if_slower=0.03, allow_unchecked=True, metric="latency_p50")
    slower, same = found.cases
    assert slower.ratio == pytest.approx(1 / 1.2)
    assert (slower.verdict, slower.gate) == ("slower", "failed")
    assert (slower.unit, slower.new) == ("ms", pytest.approx(1.206, rel=1e-4))
    assert (same.verdict, same.gate) == ("alike", "passed")
    by_throughput = differ(base, new, fail_if_slower=0.03, allow_unchecked=True).gate
    assert by_throughput.outcome == "passed", "throughput is the same"


def test_a_diff_is_about_the_metric_that_both_runs_were_measured_for(timed):
    asked = protocol_of({"metric": "latency_p50"})
    base, new = (analyse(load_run(timed(tiny=ms, protocol=asked))) for ms in (1.0, 1.2))
    found = differ(base, new, fail_if_slower=0.03, allow_unchecked=True)
    assert [case.metric for case in found.cases] == ["latency_p50"] * 2
    assert found.gate.outcome == "failed"
    told = differ(base, new, fail_if_slower=0.03, allow_unchecked=True, metric="throughput")
    assert {case.metric for case in told.cases} == {"throughput"}
    other = analyse(load_run(timed(tiny=1.2)))
    for pair in ((base, other), (other, base)):
        found = differ(*pair, fail_if_slower=0.03, allow_unchecked=True)
        assert {case.metric for case in found.cases} == {"throughput"}, "they do not agree"


def test_a_history_of_latency(timed):
    pytest.importorskip("duckdb")
    first, second = (timed(tiny=ms) for ms in (1.0, 1.2))
    found = trace(files_of(first.parent), frameworks=["tiny"], metric="latency_p50")
    assert {point.run for point in found.points} == {first.name, second.name}
    later = next(point for point in found.points if point.run == second.name)
    assert later.figure.value == pytest.approx(1.206, rel=1e-4)
    assert found.metric.title == "latency p50"
    if later.change:
        assert later.change.verdict == "slower"


def test_a_metric_that_there_is_not_is_refused(timed):
    run = load_run(timed())
    with pytest.raises(UsageError, match="no metric is called 'latency_p42'; available: through"):
        analyse(run, "latency_p42")
    with pytest.raises(UsageError, match="no metric is called"):
        differ(analyse(run), analyse(run), fail_if_slower=0.03, metric="speed")


def test_a_metric_from_outside_is_found_everywhere(timed, monkeypatch):
    longest = Metric(
        name="longest", title="longest step", unit="ms", better=LOWER, each=True, by_round=False,
        of=lambda steps, facts: max(steps.nanoseconds) / 1e6 * facts.samples_per_step,
    )  # fmt: skip
    monkeypatch.setattr(ScenarioBase, "metrics", (longest, *METRICS))
    summary = analyse(load_run(timed()))
    (pair,) = summary.comparisons
    assert (pair.metric, pair.verdict) == ("longest", "faster")
    assert summary.cases[0].metrics["longest"].processes[0] == pytest.approx(2.0 * 8)
    assert summary.to_json()["metrics"]["longest"]["title"] == "longest step"
    assert (
        differ(summary, summary, fail_if_slower=0.03, allow_unchecked=True).cases[0].metric
        == "longest"
    )


def test_a_run_cannot_name_a_module_that_reading_it_would_import():
    assert is_trusted("")
    assert is_trusted("mbench.scenarios.find:SCENARIOS")
    assert is_trusted("mbench_tiny:SCENARIOS"), "an installed plugin"
    assert not is_trusted("antigravity:fly")
