"""Every event is read back as it was written; what could not be read back is not written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cases import GATES, make_case
from support.experiments import measured_by

from mbench.contract.adapter import FrameworkInfo
from mbench.contract.device import DeviceSample, warn
from mbench.contract.reading import Malformed
from mbench.machine.records import Sample
from mbench.results import events
from mbench.results.encoding import decode, encode
from mbench.results.events import EVENTS
from mbench.results.facts import Tried
from mbench.results.proof import FindingRecord
from mbench.spec.adaptive import Adaptive
from mbench.spec.presets import PRESETS

INFO = FrameworkInfo(version="1.2", devices=["cpu"], device_name="CPU", threads=1)
CASE = make_case(model="m", workload="a:b")
SAMPLE = Sample(
    at_nanoseconds=7, busy_seconds=1.5, stolen_seconds=0.0, worker_seconds=1.0, available_bytes=9
)
FINDING = FindingRecord(
    check="outputs", error=None, gate=1e-9, where="", note="none counted", passed=True
)
OF_BLOCK = {"case": 1, "process": 2, "round": 3}


@pytest.fixture
def made(machine):
    """Events: one of each kind, and several of some kinds."""
    run = events.Run(
        schema=1, id="x", mbench="0.1.0", arguments=["mbench", "caf\u00e9 \u2028"], started="then",
        experiment=measured_by(PRESETS["adaptive"]), system=machine(gpus=[{"memory": "80 GB"}]),
    )  # fmt: skip
    tried = Tried(value=8, step_seconds=0.1, peak_bytes=1)
    ceiling = events.Ceiling(case=1, operator="matmul", size=8, amount=1, steps=1, nanoseconds=[1])
    return [
        run,
        *(replace(run, experiment=measured_by(protocol)) for protocol in PRESETS.values()),
        events.Resumed(arguments=[], mbench="0.1.0", at="then", protocol=Adaptive()),
        events.Surroundings(checks=[warn("other load", "1.0 of 2 cores", "end it")]),
        events.OtherMbench(pid=1, since="then"),
        events.Absence(ended="then", seconds=8.0, what="mbench"),
        events.Comparison(comparison=0, title="t"),
        events.OperatorCounts(comparison=0, counts={"resnet50": 3}),
        events.DataSet(comparison=0, folder="/p", files=9, classes=0, names="ab", digest="cd",
                       digest_of="sizes"),
        events.Pixels(case=1, grade="equal", largest=0.0, mean=0.0, psnr=None, failures=["f"]),
        events.PartBlock(case=1, process=2, round=3, part="step", steps=4, nanoseconds=5),
        events.Search(comparison=0, label="l", what="batch_size", chosen=8, tried=[tried]),
        events.Case(
            case=1, comparison=0, label="l", framework="f", framework_title="F", spec="f",
            axes=CASE, samples="images", flops_per_sample=1e9, standard=True, gates=GATES,
        ),
        events.Environment(
            case=1, python="/p", python_version="3.11.7", managed=False, digest=None,
            packages={"a": "1"},
        ),
        events.EqualWork(
            case=1, proven=True, worst=1e-7, failures=[], findings=[FINDING], notes=["n"],
            version="1.2",
        ),
        events.Framework(case=1, **vars(INFO)),
        events.Node(case=1, host="b", ranks=[1], system=machine()),
        events.Calibration(case=1, run="r", started="then", ratios=[1.0, 0.9], disturbances=[]),
        events.WorkerState(
            case=1, process=2, rank=0, interpreter="CPython 3.11.7", flags={"optimize": 1},
            slowing={"tracemalloc": "PYTHONTRACEMALLOC=1"}, garbage_collector="off",
            allocator="/libc.so", preloaded={"LD_PRELOAD=a": ""}, libraries={"/a.so": "1"},
            threads=1, cores="0", scheduling="", limits={"NOFILE": 1}, boot_id="b",
            packages={"a": "2"},
        ),
        events.Process(
            case=1, process=2, pid=7, prepare_seconds=0.5, trainable_parameters=7, differences=[],
            batches=8, first_loss=None, first_step_nanoseconds=9, warmup_blocks=[(1, 9), (2, 18)],
            warmup_reason="steady",
        ),
        events.Build(
            case=1, process=2, round=3, prepare_seconds=0.5, first_step_nanoseconds=9,
            warmup_blocks=[(1, 9)],
        ),
        events.Block(**OF_BLOCK, each=False, steps=3, start=0, nanoseconds=[7]),
        events.Block(**OF_BLOCK, each=True, steps=3, start=0, nanoseconds=[7, 8, 2**62]),
        events.Evidence(
            **OF_BLOCK, each=True, step=3, due=3.5, batch=2, loss=0.5, outputs={}, waited=9,
            looked=1,
        ),
        events.Changes(case=1, process=2, step=16, due=90.5, parameters={"w": (1.0,) * 6}),
        events.Telemetry(**OF_BLOCK, each=True, cores=2, samples=[SAMPLE, SAMPLE]),
        events.Memory(case=1, process=2, peak_bytes=0, idle_look=1),
        events.Rounding(
            case=1, answers=0.1, norm=0.2, tensor=0.3, direction=0.4, statistics=0.0
        ),
        ceiling,
        events.Ceiling(case=1, operator="matmul", size=8, reason="oom: too large"),
        events.Outcome(case=1, outcome="oom", reason="too large", log=None),
        events.ComparisonEnd(comparison=0, reason="all processes measured"),
        events.PastRatio(
            case=1, baseline=0, run="r", started="then", ratio=1.0, low=0.9, high=1.1,
            process_pairs=3,
        ),
        events.End(status="complete", finished="then"),
    ]  # fmt: skip


def test_every_event_is_read_back_as_it_was_written(made):
    for event in made:
        line = encode(event)
        assert "\n" not in line
        assert decode(line) == event
    assert {type(event) for event in made} == set(EVENTS.values())


def test_events_are_called_in_a_file_what_they_are_called_in_code():
    assert list(EVENTS) == [
        "run", "resumed", "surroundings", "other_mbench", "absence", "comparison",
        "operator_counts", "data_set", "search", "case", "environment", "equal_work", "pixels",
        "framework", "node", "calibration", "worker_state", "process", "build", "block",
        "part_block", "telemetry", "evidence",
        "changes", "memory",
        "rounding", "ceiling", "outcome", "comparison_end", "past_ratio", "end",
    ]  # fmt: skip


def test_of_a_sample_what_is_not_known_is_not_written():
    seen = replace(SAMPLE, gpu=DeviceSample(celsius=50))
    line = encode(events.Telemetry(**OF_BLOCK, each=False, cores=2, samples=[SAMPLE, seen]))
    first, second = json.loads(line)["samples"]
    assert set(first) == {"at_nanoseconds", "busy_seconds", "stolen_seconds", "worker_seconds",
                          "available_bytes"}  # fmt: skip
    assert second == first | {"gpu": {"celsius": 50}}


def test_half_a_surrogate_pair_is_not_written(machine):
    line = encode(
        events.Resumed(arguments=["caf\udce9"], mbench="0.1.0", at="then", protocol=Adaptive())
    )
    assert json.loads(line)["arguments"] == ["caf?"]


def test_a_kind_that_is_not_known_is_no_error():
    assert decode('{"event": "weather", "case": 0, "rain": true}') is None


BLOCK = events.Block(**OF_BLOCK, each=False, steps=3, start=0, nanoseconds=[7])


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (replace(BLOCK, steps=0, nanoseconds=[1]), r"block\.steps should be 1 or more"),
        (replace(BLOCK, nanoseconds=[0]), r"block\.nanoseconds\[0\] should be 1 or more"),
        (replace(BLOCK, nanoseconds=[10**30]), r"block\.nanoseconds\[0\] is too large"),
        (replace(BLOCK, nanoseconds=[1.0]), r"block\.nanoseconds\[0\] should be int"),
        (replace(BLOCK, process=-1), r"block\.process"),
        (
            events.Telemetry(
                **OF_BLOCK, each=True, cores=2, samples=[replace(SAMPLE, at_nanoseconds=-1)] * 2
            ),
            r"telemetry\.samples\[0\]\.at_nanoseconds",
        ),
        (
            events.Outcome(case=0, outcome="oom", reason=None, log=None),
            r"outcome\.reason should be str",
        ),
    ],
)
def test_what_could_not_be_read_back_is_not_written(event, said):
    with pytest.raises(Malformed, match=said):
        encode(event)


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(BLOCK, nanoseconds=[]),
        lambda: replace(BLOCK, nanoseconds=[1, 2]),
        lambda: replace(BLOCK, each=True),
        lambda: events.Telemetry(**OF_BLOCK, each=True, cores=2, samples=[SAMPLE]),
        lambda: Tried(value=8),
        lambda: events.Outcome(case=0, outcome="ok", reason="", log=None),
        lambda: events.Ceiling(case=0, operator="matmul", size=8),
        lambda: events.Calibration(case=0, run="r", started="", ratios=[], disturbances=[]),
        lambda: events.EqualWork(
            case=0, proven=False, worst=None, failures=[], findings=[], notes=[], version=""
        ),
        lambda: events.Case(
            case=0, comparison=0, label="", framework="", framework_title="", spec="",
            axes=replace(CASE, batch_size=0), samples="", flops_per_sample=0.0, standard=True,
            gates=GATES,
        ),
    ],
)  # fmt: skip
def test_what_contradicts_itself_cannot_be_made(make):
    with pytest.raises(Malformed):
        make()
