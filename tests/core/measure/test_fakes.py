"""Stand-ins take the same calls as the real ones; otherwise a misspelled call would pass."""

from __future__ import annotations

from fakes import NotedActivity, SilentWorker, calls

from mbench.engine.worker import WorkerBase
from mbench.machine.sampler import Sampler
from mbench.measure.activity import Listener
from mbench.results.store import RunWriter


def test_a_fake_worker_takes_what_a_worker_takes(measure, world):
    measure()
    assert calls(SilentWorker) == calls(WorkerBase)
    for name, parameters in calls(WorkerBase).items():
        assert calls(type(world.workers[0]))[name] == parameters


def test_a_fake_listener_takes_what_a_listener_takes():
    assert calls(NotedActivity).keys() == calls(Listener).keys()


def test_other_fakes_take_what_the_real_ones_take(measure):
    store = measure()
    for fake, real in ((store, RunWriter), (store.sampler, Sampler)):
        faked, wanted = calls(type(fake)), calls(real)
        shared = faked.keys() & wanted.keys()
        assert shared
        assert {name: faked[name] for name in shared} == {name: wanted[name] for name in shared}
