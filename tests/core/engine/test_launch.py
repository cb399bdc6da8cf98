"""What a launcher is given, and what becomes of a worker whose framework does not start."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import make_case
from fakes import SilentWorker

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.rank import SINGLE
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.plugins.launcher import Program
from mbench.plugins.manager import Plugins

CASE = make_case(threads=3)
INFO = FrameworkInfo(version="1", devices=["cpu"], device_name="CPU", threads=3)


class Worker(SilentWorker):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def start(self, message):
        self.message = message
        if isinstance(self.answer, CaseEnded):
            raise self.answer
        return self.answer


@pytest.fixture
def launched(tmp_path):
    """Calls `launch` and returns its result; keeps the program and places that the launcher got."""

    def launched(worker, **named):
        given = []

        def launcher(program, places):
            given.append((program, tuple(places)))
            return worker

        environment = SimpleNamespace(
            python=Path("python"),
            variables=lambda: {"HOME": "/home"},
            hint=lambda: "mend it",
            managed=False,
            remedy="rebuild it",
        )
        adapter = Plugins().adapter("tiny")
        named = {"log": tmp_path / "log", "timeout": 7.0, "launcher": launcher, **named}
        try:
            return launch(adapter, environment, CASE, **named)
        finally:
            ((launched.program, launched.places),) = given

    return launched


def test_a_launcher_is_given_a_program_and_the_places(launched, tmp_path):
    worker = Worker(INFO)
    assert launched(worker, memory_limit_bytes=2**20) == (worker, INFO)
    program = launched.program
    assert launched.places == (SINGLE,), "a list of one"
    assert (program.python, program.log, program.timeout_seconds) == (
        Path("python"), tmp_path / "log", 7.0,
    )  # fmt: skip
    assert program.modules == ("mbench_tiny", "mbench_tiny")
    assert program.variables["OMP_NUM_THREADS"] == "3"
    assert program.variables["HOME"] == "/home"
    assert worker.message == wire.Start(runtime="mbench_tiny:Runtime", device="cpu", threads=3)
    assert worker.memory_limit_bytes == 2**20


def test_a_worker_whose_framework_does_not_start_is_ended(launched):
    worker = Worker(CaseEnded("failed", "no"))
    with pytest.raises(CaseEnded, match=r"no \(mend it\)"):
        launched(worker)
    assert worker.closed


def test_the_usual_launcher_comes_in_as_all_plugins_do(tmp_path):
    program = Program(
        python=Path(tmp_path, "none"), modules=(), variables={}, log=tmp_path / "log",
        timeout_seconds=1.0,
    )  # fmt: skip
    with pytest.raises(CaseEnded, match="does not start"):
        Plugins().launcher("local")(program, [SINGLE])
