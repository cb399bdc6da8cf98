"""What a moment's look at the machine reports before anything is measured."""

from __future__ import annotations

import pytest

from mbench.contract.device import ok, warn
from mbench.machine.doctor import examine as module
from mbench.machine.doctor.busiest import Used
from mbench.machine.doctor.examine import SECONDS, glance


@pytest.fixture
def machine(monkeypatch):
    """A machine with two cores, of which others use `used` and the hypervisor `stolen`."""

    def with_load(*, used=0.0, stolen=0.0, governor=()):
        readings = iter([(10.0, 1.0), (10.0 + used * SECONDS, 1.0 + stolen * SECONDS)])
        moments = iter([0.0, SECONDS])
        monkeypatch.setattr(module.kernel, "core_seconds", lambda cores: next(readings))
        monkeypatch.setattr(module.kernel, "cores_of", lambda pid: [0, 1])
        monkeypatch.setattr(module.psutil, "cpu_count", lambda logical: 2)
        monkeypatch.setattr(module.time, "monotonic", lambda: next(moments))
        monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
        monkeypatch.setattr(module, "own_seconds", lambda: 0.0)
        programs = iter([{7: Used("make", 3.0)}, {7: Used("make", 3.0 + used * SECONDS)}])
        monkeypatch.setattr(module, "processor_times", lambda: next(programs))
        monkeypatch.setattr(module.memory, "size", lambda: [ok("memory", "8 GiB")])
        monkeypatch.setattr(module.processor, "governor", lambda cores: governor)

    return with_load


def test_a_quiet_machine_is_not_worth_a_word(machine):
    machine(used=0.2)  # an error that counters may have
    assert glance(needed=2) == []


def test_load_is_told_with_what_to_do_and_comes_first(machine):
    machine(used=1.2, governor=[warn("governor", "powersave", "set it")])
    load, governor = glance(needed=2)
    assert load.found == "other programs use 1.0 of 2 cores"
    assert load.hint.startswith("end them (make (process 7) 1.2), or expect wide intervals")
    assert governor.found == "powersave"


def test_half_of_the_cores_that_are_left_may_be_used(machine):
    machine(used=0.7)
    assert glance(needed=1) == []
    machine(used=0.7)
    assert len(glance(needed=2)) == 1


def test_stolen_time_is_told(machine):
    machine(stolen=0.5)
    (check,) = glance(needed=2)
    assert check.name == "stolen time"
