"""What every worker is asked to prepare, wherever its processes run."""

from __future__ import annotations

import os

import pytest
from cases import make_case

from mbench.engine import memory
from mbench.engine.worker import WorkerBase
from mbench.plugins.launcher import Process
from mbench.proofs.proof_case import proof_work

GIB = 2**30


class Asked(WorkerBase):
    """Keeps the last message; its process is this one, which holds some memory."""

    processes = (Process(pid=os.getpid()),)

    def ask(self, message, answer, *, timeout=None):
        self.message = message

    ask_all = start = run = stop = resume = close = kill = None


@pytest.mark.parametrize(("asked", "told"), [(None, 1e-5), (0.5, 0.5), (0.0, 0.0)])
def test_a_timed_case_names_its_optimizer_as_a_proof_does(asked, told):
    worker, case = Asked(), make_case()
    work = None if asked is None else proof_work(case, learning_rate=asked)
    worker.prepare(case, work=work)
    assert worker.message.case == case
    assert worker.message.work == proof_work(case, learning_rate=told)


def test_a_worker_may_hold_what_it_holds_and_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10 * GIB)
    worker = Asked()
    worker.prepare(make_case())
    assert 9 * GIB < worker.message.memory_limit_bytes < 11 * GIB
    worker.memory_limit_bytes = GIB // 4
    worker.prepare(make_case())
    assert worker.message.memory_limit_bytes == GIB // 4


def test_what_the_memory_of_a_device_holds_is_its_own_affair():
    worker = Asked()
    worker.prepare(make_case(device="cuda"))
    assert worker.message.memory_limit_bytes is None
