"""Compilers that take turns, in a world with its own time."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace

import pytest
from fakes import NotedActivity
from support.experiments import asked

from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.measure import compiler_search
from mbench.measure.compiler_search import REPETITIONS, ROUNDS, CompilerSearch
from mbench.spec.adaptive import Adaptive
from mbench.spec.experiment import Launch
from mbench.spec.planning import plan


class Watch(nullcontext):
    """A memory watch that never finds too much in use."""

    reason = ""

    def __init__(self, pids, *, limit_bytes, memory):
        super().__init__()

    def look(self):
        pass


@pytest.fixture
def compete(world, plugins, monkeypatch, tmp_path):
    """A function that lets flaky's case compete with itself at other speeds; returns the search."""
    monkeypatch.setattr(compiler_search, "awake", lambda: world.now)
    monkeypatch.setattr(compiler_search, "watch", Watch)
    (comparison,) = plan(asked(frameworks=("flaky",), wanted={"model": ("tiny-model",)}), plugins)
    (entry,) = comparison.entries

    def compete(names, *, seconds=1e9, **speeds):
        world.speeds = speeds
        bench = SimpleNamespace(
            launcher=world.launch, listener=NotedActivity(), device_memory=None, launch=Launch()
        )
        environment = Environment(label="flaky", python=tmp_path, python_version="3.11.7",
                                  managed=False, digest=None, packages={})  # fmt: skip
        logs = count()
        cases = {name: Case(entry.case, name) for name in names}
        made = CompilerSearch(
            entry, environment, cases, bench, constants=Adaptive(), limit_bytes=None,
                       log=lambda: tmp_path / str(next(logs)))  # fmt: skip
        made.run(seconds=seconds)
        assert all(worker.closed for worker in world.workers)
        made.listener = bench.listener
        return made

    return compete


class Case:
    """A case whose compiler has any name, so that it can compete with itself."""

    def __init__(self, case, name):
        self.case, self.compiler = case, name

    def __getattr__(self, name):
        return getattr(self.case, name)


def test_all_take_turns_in_every_round_of_fresh_processes(compete, world):
    made = compete(("eager", "graph"), eager=0.1, graph=0.08)
    assert len(world.workers) == 2 * REPETITIONS
    for one in made.candidates.values():
        assert [len(one.rates[number]) for number in range(REPETITIONS)] == [ROUNDS] * REPETITIONS
        assert one.peak_bytes == 123
    assert made.ranking() == ("graph", [])
    assert made.candidates["graph"].processes == pytest.approx([0.08] * REPETITIONS)


def test_what_is_far_slower_competes_in_one_set_only(compete, world):
    made = compete(("eager", "graph", "slow"), eager=0.1, graph=0.1, slow=0.16)
    assert [len(one.processes) for one in made.candidates.values()] == [REPETITIONS, REPETITIONS, 1]
    assert made.ranking() == ("eager", ["graph"])


def test_one_that_nothing_is_near_to_needs_no_more_sets(compete, world):
    made = compete(("eager", "slow"), eager=0.1, slow=0.2)
    assert len(world.workers) == 2
    assert made.ranking() == ("eager", [])


def test_the_time_bounds_the_sets_but_for_the_first(compete, world):
    world.start_seconds = 10.0
    made = compete(("eager", "graph"), seconds=1.0, eager=0.1, graph=0.08)
    assert [len(one.processes) for one in made.candidates.values()] == [1, 1]
    assert made.ranking() == ("graph", ["eager"]), "one pair shows nothing"


@pytest.mark.parametrize("request_", ["launch", "prepare", "run", "memory"])
def test_one_that_falls_short_leaves_the_others_alone(compete, world, request_, tmp_path):
    """The worker that is started second fails, whichever compiler it has."""
    world.faults[str(tmp_path), 1, request_] = CaseEnded("crashed", "gone")
    made = compete(("eager", "graph"), eager=0.1, graph=0.1)
    (lost,) = [one for one in made.candidates.values() if one.end]
    assert (lost.end.outcome, len(made.left)) == ("crashed", 1)
    assert made.ranking() == (made.left[0], [])
