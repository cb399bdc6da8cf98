"""Only kernels of the step after the warm-up count, by the logs of libraries or a profiler."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import make_case
from fakes import SilentWorker

from mbench.contract import wire
from mbench.contract.adapter import DeviceCall, FrameworkInfo, Traced
from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.explain import kernels as module
from mbench.explain.kernels import kernels_of, observe
from mbench.machine import process_end
from mbench.plugins.manager import Plugins

INFO = FrameworkInfo(version="1", devices=["cpu"], device_name="CPU", threads=1)
BEGIN = "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)\n"
CALL = "onednn_verbose,exec,cpu,matmul,jit,undef,src_f32::blocked:ab:f0,,,{},0.5\n"
PRODUCT = DeviceCall(kind="kernel", name="k<4>(int)", launch="grid 8x1x1 block 128x1x1", count=1,
                     milliseconds=0.5, moved_bytes=None)  # fmt: skip
TRACED = Traced(calls=[PRODUCT], other_events=2, unread=1)
ENVIRONMENT = Environment(label="tiny", python=Path("python"), python_version="3.11", managed=False,
                          digest=None, packages={})  # fmt: skip


class EventLogger(SilentWorker):
    """A worker that logs each step as one call whose shape is the step's number."""

    def __init__(self, log):
        super().__init__()
        self.log = log
        self.steps = 0

    def start(self, message):
        self.say(BEGIN)
        return INFO

    def ask(self, message, answer, *, timeout=None):
        if isinstance(message, wire.Profile):
            assert list(Path(message.folder).iterdir()) == []
            self.run(1)
            return replace(TRACED, calls=[replace(PRODUCT, count=self.steps)])
        assert isinstance(message, wire.Prepare)
        self.case = message.case
        self.say(CALL.format("prepare"))

    def run(self, count, *, each=False, lead=0, timeout=None):
        for _ in range(count):
            self.steps += 1
            self.say(CALL.format(self.steps))

    def say(self, text):
        with self.log.open("a") as file:
            file.write(text)


@pytest.fixture
def worker(tmp_path):
    return EventLogger(tmp_path / "log")


@pytest.fixture
def evidence(worker, monkeypatch):
    """Observes a case; its attribute `given` is the case as it was launched."""

    def launch(adapter, environment, case, *, log, timeout):
        evidence.given = case
        worker.start(None)
        return worker, replace(INFO, details={"cuda": "12.9"})

    def evidence(case):
        adapter = Plugins().adapter("tiny")
        return observe(adapter, ENVIRONMENT, case, log=worker.log, timeout=7.0)

    monkeypatch.setattr(module, "launch", launch)
    return evidence


def test_the_step_after_the_warm_up_counts_and_no_other(evidence, worker):
    found = evidence(make_case())
    assert [kernel.shape for kernel in found.kernels] == ["3"]
    assert (found.libraries, found.unread) == ({"oneDNN": "3.7.3"}, 0)
    assert worker.closed


def test_libraries_log_and_the_case_is_as_it_was(evidence, worker):
    evidence(make_case(variables={"MKL_VERBOSE": "0", "OMP_PLACES": "cores"}))
    assert evidence.given.variables == {
        "OMP_PLACES": "cores", "ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "MKLDNN_VERBOSE": "1",
        "MKL_VERBOSE": "1",
    }  # fmt: skip
    assert worker.case.variables == {"MKL_VERBOSE": "0", "OMP_PLACES": "cores"}


def test_an_earlier_process_in_the_same_log_does_not_count(evidence, worker):
    worker.log.write_text("onednn_verbose,info,oneDNN v1.0.0\n" + CALL.format("before"))
    found = evidence(make_case())
    assert found.libraries == {"oneDNN": "3.7.3"}
    assert [kernel.shape for kernel in found.kernels] == ["3"]


def test_a_log_that_was_flooded_is_no_evidence(evidence, worker, monkeypatch):
    monkeypatch.setattr(process_end, "MOST_BYTES", 100)
    monkeypatch.setattr(process_end, "KEPT_BYTES", 10)
    before = worker.run

    def run(count, **rest):
        before(count, **rest)
        process_end.bound(worker.log)

    worker.run = run
    with pytest.raises(CaseEnded, match="wrote more than a log holds") as end:
        evidence(make_case())
    assert (end.value.outcome, end.value.log) == ("failed", worker.log)
    assert worker.closed


def test_on_a_device_the_step_after_the_warm_up_is_profiled(evidence, worker):
    """With this worker, a kernel's count is the number of the profiled step."""
    left = worker.log.with_suffix(".trace") / "of an earlier process"
    left.parent.mkdir()
    left.touch()
    found = evidence(make_case(device="cuda"))
    assert (found.libraries, found.profiled, found.unread) == ({"CUDA": "12.9"}, True, 1)
    (kernel,) = found.kernels
    assert (kernel.library, kernel.primitive) == ("CUDA", "kernel")
    assert (kernel.implementation, kernel.shape) == ("k<4>(int)", PRODUCT.launch)
    assert (kernel.count, kernel.milliseconds, kernel.moved_bytes) == (3, 0.5, None)
    assert evidence.given.variables == {}, "no library has to log"
    assert worker.closed


def test_a_trace_without_the_device_is_no_evidence():
    with pytest.raises(CaseEnded, match="recorded 2 events but no call on the cuda device") as end:
        kernels_of(replace(TRACED, calls=[]), "cuda")
    assert end.value.outcome == "unsupported"


def test_several_processes_are_unsupported(evidence):
    with pytest.raises(CaseEnded, match="--scale 1x1") as end:
        evidence(make_case(scale="1x2"))
    assert end.value.outcome == "unsupported"


def test_a_real_worker_without_such_a_library_logs_nothing(tmp_path):
    here = SimpleNamespace(python=Path(sys.executable), variables=dict, managed=False)
    adapter = Plugins().adapter("tiny")
    found = observe(adapter, here, make_case(), log=tmp_path / "log", timeout=60.0)
    assert (found.libraries, found.kernels, found.unread) == ({}, [], 0)
    assert not found.profiled
