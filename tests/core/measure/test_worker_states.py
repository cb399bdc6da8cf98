"""What workers report of themselves is compared with their environment and with each other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes import SilentWorker, worker_state

from mbench.engine.launch import examine
from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.measure.facts import one_machine
from mbench.plugins.launcher import Process

MANAGED = Environment(
    label="tiny", python=Path("/e/tiny-py3.11-0123/bin/python"), python_version="3.11.7",
    managed=True, digest="d", packages={"numpy": "2.0"}, digests={"numpy": "a"},
)  # fmt: skip


class Telling(SilentWorker):
    def __init__(self, *states, hosts=("",)):
        super().__init__()
        self.processes = [Process(pid=1, host=host) for host in hosts]
        self.told = states

    def ask_all(self, message, answer, *, timeout=None):
        return [worker_state(**{"packages": {"numpy": "2.0"}, "digests": {"numpy": "a"}, **state})
                for state in self.told]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            {"packages": {"numpy": "2.1"}},
            "built: numpy is 2.1 instead of 2.0; run mbench env remove tiny",
        ),
        ({"packages": {"numpy": "2.0", "x": "1"}}, "x 1 was added"),
        ({"digests": {"numpy": "b"}}, "the files of numpy were replaced"),
        ({"preloaded": {"LD_PRELOAD=/a.so": ""}}, "its LD_PRELOAD=/a.so was ignored"),
        ({"slowing": {"debug build": "b"}}, "debug build slows its Python down (b): turn it off"),
        ({"slowing": {"changed clock": "c"}}, "changed clock makes its times wrong"),
    ],
)
def test_what_contradicts_the_record_or_slows_down_ends_the_case(state, said):
    with pytest.raises(CaseEnded) as end:
        examine(Telling(state), MANAGED, {}, timed=True)
    assert said in str(end.value.reason)


@pytest.mark.skipif(sys.platform != "linux", reason="one clock for all processes")
def test_a_clock_of_its_own_ends_the_case():
    with pytest.raises(CaseEnded) as end:
        examine(Telling({"clock": 1}), MANAGED, {}, timed=False)
    assert "its clock is not the machine's" in end.value.reason


def test_a_proof_may_be_slow_and_an_arm_may_have_packages_of_its_own():
    slow = {"slowing": {"tracemalloc": "t"}}
    assert examine(Telling(slow), MANAGED, {}, timed=False)
    own = {"packages": {"numpy": "1"}}
    assert examine(Telling(own), MANAGED, {"PYTHONPATH": ""}, timed=True)


def test_ranks_have_the_same_packages():
    worker = Telling({}, {"packages": {"numpy": "1"}}, hosts=("a", "b"))
    environment = Environment(**{**vars(MANAGED), "managed": False})
    with pytest.raises(CaseEnded) as end:
        examine(worker, environment, {}, timed=True)
    assert "rank 1 of 2: its packages differ from those of rank 0: numpy is 1 instead of 2.0" in (
        end.value.reason
    )


def test_one_machine_by_two_names_is_said():
    worker = Telling({}, {}, hosts=("localhost", "127.0.0.1"))
    worker.states = worker.ask_all(None, None)
    assert one_machine(worker).found == "localhost and 127.0.0.1 are one machine, started once"
    worker.states = [worker_state(boot_id=name) for name in "ab"]
    assert one_machine(worker) is None
