"""Messages: each survives the pipe, and anything else is refused with the name of what is wrong."""

from __future__ import annotations

import dataclasses
import json
import math
import random

import pytest
from cases import make_case

from mbench.contract import learning, wire
from mbench.contract.adapter import DeviceCall, FrameworkInfo, Traced
from mbench.contract.rank import RankInfo
from mbench.contract.reading import Malformed
from mbench.contract.wire import decode, encode
from mbench.contract.worker_state import WorkerState
from mbench.contract.workload import Optimizer

CASE = make_case(sizes={"image_size": 96})
CALL = DeviceCall(kind="kernel", name="k<4>", launch="grid 1x1x1 block 128x1x1", count=2,
                  milliseconds=0.1, moved_bytes=None)  # fmt: skip
LESSON = learning.Lesson(
    batch_size=8, steps=40, schedule=learning.Schedule(shape="step", milestones=[0.5]),
    optimizer=Optimizer(rule="sgd", learning_rate=0.1, decays_vectors=False),
    config={"layers": 2, "epsilon": 1e-5}, smoothing=0.1,
)  # fmt: skip
STEP = wire.StepEvidence(loss=None, outputs={"logits": [1.5, -2.25]}, parameters={})
MESSAGES = [
    wire.Hello(python="3.12.1", pid=7, process_group=7),
    wire.Start(runtime="a.b:C", device="cpu", threads=2),
    wire.Start(
        runtime="a.b:C",
        device="cpu",
        threads=2,
        place=RankInfo(
            rank=1, ranks=2, local_rank=1, local_ranks=2, peers=["one:29500", "two:29500"]
        ),
    ),
    FrameworkInfo(
        version="1.0", devices=["cpu"], device_name='a "b"\n\u2028', threads=1, versions={"x": "1"}
    ),
    wire.Prepare(case=CASE),
    wire.Prepared(
        seconds=0.1, differences=["one", "two"], trainable_parameters=25557032, batches=8
    ),
    wire.TimeSteps(count=3, each=True),
    wire.Elapsed(start_nanoseconds=2**53 + 1, nanoseconds=[1, 2**60]),
    wire.Memory(),
    wire.MemoryUsed(peak_bytes=1),
    wire.Load(),
    wire.Loaded(),
    wire.Look(changes=True),
    wire.Seen(step=9, batch=0, loss=0.1, changes={"w": [1.0]}),
    wire.Seen(step=9, batch=0, outputs={"logits": [1.0]}),
    wire.Observe(seed=0, steps=3),
    wire.Observation(
        trainable_parameters=1,
        counted_flops=8.2e9,
        shapes={"conv1.weight": [64, 3, 7, 7], "scalar": []},
        steps=[STEP, dataclasses.replace(STEP, loss=0.1, parameters={"w": [5e-324]})],
    ),
    wire.Close(),
    wire.Closed(),
    wire.Failure(outcome="oom", reason="no memory", traceback="Traceback\n..."),
    wire.FindShapes(case=CASE),
    wire.ShapesFound(shapes={"weight": [2, 3], "scalar": []}),
    wire.SelectBatch(batch=3),
    wire.Keep(),
    wire.Kept(results=64, batch_bytes=2**40),
    wire.Renew(first=2**40, count=9, slots=8, chunk=8, seeds=[3, 2**22]),
    wire.Renewed(),
    wire.Feed(ids=[2, 0], boxes=[0, 0, 9, 9, 1, 2, 3, 4], flips=[0, 1], content=2**41),
    wire.Feeding(),
    wire.AskFed(),
    wire.Fed(batches=1, ids=[2, 0], labels=[1, 1], pixels=[0.5] * 6, images="AAAA"),
    wire.Look(back=[1, 7]),
    wire.Seen(step=9, batch=2**31, earlier=[wire.SeenBefore(back=7, batch=2**31 - 7, loss=0.1)]),
    wire.Observe(seed=0, steps=1, filled={"fc.weight": 0.1}),
    wire.BatchSelected(),
    wire.Prepare(case=CASE, load=False, memory_limit_bytes=2**40),
    wire.TimeWaits(),
    wire.Start(runtime="a.b:C", device="cuda", threads=1, device_memory_bytes=2**34),
    wire.MemoryUsed(peak_bytes=None, anew=True),
    wire.Nudge(steps=16, changes_at=[4, 16]),
    wire.Nudged(canonical=[wire.Seen(step=1, batch=0, loss=0.1)], nudged=[]),
    wire.Profile(folder="/tmp/trace"),
    learning.PrepareLesson(case=CASE, lesson=LESSON, data="/data", seed=3, steps=20, nudged=2),
    learning.Learn(count=10),
    learning.Learnt(losses=[0.5, None], nanoseconds=7),
    learning.EvaluateModel(examples=64),
    learning.Evaluated(correct=3, labels=4, loss=None, nanoseconds=5, logits=[1.0, 0.5]),
    learning.SketchTensors(),
    learning.Sketches(changes={"fc.weight": [1.0, 0.5]}),
    wire.AskState(),
    WorkerState(
        packages={"numpy": "2.0"},
        digests={"numpy": "a"},
        clock=2**60,
        interpreter="CPython 3.7",
        flags={"optimize": 1},
        garbage_collector="off",
        allocator="/libc.so.6",
        cores="0-1",
        scheduling="nice 5",
        boot_id="b",
        threads=None,
    ),
    Traced(calls=[CALL, dataclasses.replace(CALL, moved_bytes=64.0)], other_events=3, unread=0),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_round_trip(message):
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == message


def test_every_message_is_tried():
    assert {type(message) for message in MESSAGES} == set(wire.MESSAGES.values())


def body(message: object, **changes: object) -> bytes:
    return json.dumps({**json.loads(encode(message)), **changes}).encode()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"", "not JSON"),
        (b"warming up...\n", "warming up"),
        (b'{"message":"TimeSteps","count":1', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"null", "unknown message"),
        (b"[1]", "unknown message"),
        (b'{"count":1}', "unknown message"),
        (b'{"message":"Walk","count":1}', "Walk"),
        (b'{"message":["TimeSteps"],"count":1}', "unknown message"),
        (b'{"message":"TimeSteps"}', "TimeSteps lacks 'count'"),
        (b'{"message":"TimeSteps","count":"3"}', "TimeSteps.count should be int, not '3'"),
        (b'{"message":"TimeSteps","count":true}', "TimeSteps.count"),
        (b'{"message":"TimeSteps","count":3.0}', "TimeSteps.count"),
        (b'{"message":"TimeSteps","count":null}', "TimeSteps.count"),
        (b'{"message":"TimeSteps","count":3,"each":1}', "TimeSteps.each"),
        (b'{"message":"TimeSteps","count":3,"pace":1}', "TimeSteps has no field 'pace'"),
        (b'{"message":"MemoryUsed","peak_bytes":[1]}', "MemoryUsed.peak_bytes"),
        (body(MESSAGES[7], nanoseconds=[1, 2, "3"]), r"Elapsed.nanoseconds\[2\]"),
        (body(MESSAGES[7], nanoseconds={"0": 1}), "Elapsed.nanoseconds"),
        (body(MESSAGES[3], versions=["x"]), "FrameworkInfo.versions"),
        (body(MESSAGES[3], versions={"x": 1}), "FrameworkInfo.versions.x"),
        (body(MESSAGES[4], case=None), "Prepare.case"),
        (body(MESSAGES[4], case={"model": "m"}), "Prepare.case lacks 'mode'"),
        (body(MESSAGES[16], shapes={"w": [1, "2"]}), r"Observation.shapes.w\[1\]"),
        (body(MESSAGES[16], steps=[{"loss": "low"}]), r"Observation.steps\[0\].loss"),
        (body(MESSAGES[5], seconds=10**400), "Prepared.seconds"),
        (body(MESSAGES[7], start_nanoseconds=2**63), "Elapsed.start_nanoseconds is too large"),
        (body(MESSAGES[7], nanoseconds=[10**4000]), r"Elapsed.nanoseconds\[0\] is too large"),
        (body(MESSAGES[7], nanoseconds=[]), "Elapsed.nanoseconds"),
        (body(MESSAGES[7], nanoseconds=[3, 0]), "Elapsed.nanoseconds"),
        (body(MESSAGES[7], nanoseconds=[3, -3]), "Elapsed.nanoseconds"),
        (body(MESSAGES[-1], calls=[{**dataclasses.asdict(CALL), "count": 0}]), "DeviceCall.count"),
        (body(MESSAGES[-1], calls=[{"kind": "kernel"}]), r"Traced.calls\[0\] lacks"),
        (body(MESSAGES[19], outcome="ok"), "a worker cannot report the outcome 'ok'"),
        (body(MESSAGES[19], outcome="not-equal"), "a worker cannot report the outcome 'not-equal'"),
    ],
)
def test_malformed_messages_are_named(line, named):
    with pytest.raises(Malformed, match=named) as caught:
        decode(line)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_on_both_ends(value):
    with pytest.raises(ValueError, match="JSON"):
        encode(wire.Prepared(seconds=value, differences=[], trainable_parameters=0, batches=8))
    with pytest.raises(Malformed, match=r"Prepared\.seconds"):
        decode(body(MESSAGES[5], seconds=value))


def test_a_number_too_large_for_a_float_is_not_finite():
    with pytest.raises(Malformed, match=r"Prepared\.seconds"):
        decode(encode(MESSAGES[5]).replace(b"0.1", b"1e999"))


def test_whole_numbers_serve_as_floats():
    read = decode(body(MESSAGES[5], seconds=2))
    assert read.seconds == 2.0
    assert type(read.seconds) is float


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_damaged_line_is_a_message_or_malformed_and_nothing_else(message):
    chance = random.Random(type(message).__name__)
    line = encode(message)
    for _ in range(300):
        damaged = bytearray(line)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(damaged))
            kind = chance.randrange(3)
            if kind == 0:
                damaged[at] = chance.randrange(256)
            elif kind == 1:
                damaged[at:at] = chance.choice([b"{", b"}", b"null", b'"', b"[]", b"-", b"9e9"])
            else:
                del damaged[at : at + chance.randint(1, 9)]
                damaged = damaged or bytearray(b" ")
        try:
            read = decode(bytes(damaged))
        except Malformed:
            continue
        assert type(read) in wire.MESSAGES.values()
        encode(read)
