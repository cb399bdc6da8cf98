"""Searches for the largest batch and the best compiler, with pretended workers."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes import NotedActivity
from support.experiments import asked

from mbench.contract.adapter import Support
from mbench.engine.outcome import CaseEnded
from mbench.measure import search
from mbench.measure.compiler_search import REPETITIONS, CompilerSearch
from mbench.measure.run_context import RunContext
from mbench.measure.search import Search, largest
from mbench.results.encoding import decode, encode
from mbench.results.facts import Tried
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan
from mbench.spec.presets import PRESETS


@pytest.mark.parametrize("start", [1, 4, 64, 300])
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 63, 64, 65, 1000, 4097])
def test_the_largest_size_is_found_to_a_sixteenth(start, limit):
    tried = []

    def fits(size):
        assert size >= 1
        assert size not in tried, "nothing is tried twice"
        tried.append(size)
        return size <= limit

    found = largest(fits, start=start)
    assert found <= limit
    assert limit - found <= max(0, found // 16)
    assert len(tried) <= 2 * 13


def of_tiny(**wanted):
    return asked(frameworks=("tiny", "flaky"), wanted={"model": ("tiny-model",), **wanted})


class Store:
    def __init__(self):
        self.searches = []

    def append(self, event):
        decode(encode(event))
        self.searches.append(event)

    def log_path(self, name):
        return Path("logs", name)


class EnvironmentPool:
    def __init__(self, lacking=()):
        self.lacking = lacking

    def environment_for(self, entry):
        if entry.label in self.lacking:
            raise CaseEnded("failed", "no environment")
        return entry.label


@pytest.fixture
def settle(plugins, monkeypatch):
    """A function that settles one comparison and returns the search. Its argument
    `run(label, case)` returns the seconds of a step or raises CaseEnded.
    """
    monkeypatch.setattr(search, "worker_limit_bytes", lambda asked, workers: 1000 // workers)

    def settle(run, *, batch=(64,), compilers=("default",), lacking=(), protocol=None,
               earlier=None, launcher=None):  # fmt: skip
        sweep = of_tiny(batch_size=batch, compiler=compilers)
        comparison = plan(sweep, plugins)[-1]
        limits = set()

        def attempt(value, entry, environment, case, *, limit_bytes, **_):
            limits.add(limit_bytes)
            try:
                return Tried(value=value, step_seconds=run(entry.label, case), peak_bytes=1)
            except CaseEnded as end:
                return Tried(value=value, outcome=end.outcome, reason=end.reason)

        class Pretended(CompilerSearch):
            def measure_repetition(self, number):
                limits.add(self.limit_bytes)
                for name in self.left:
                    one = self.candidates[name]
                    with self.guard(name):
                        one.rates[number] = {0: 1 / run(self.entry.label, one.case)}

        monkeypatch.setattr(search, "try_case", attempt)
        monkeypatch.setattr(search, "CompilerSearch", Pretended)
        bench = RunContext(protocol=protocol or Adaptive(), launcher=launcher,
                      environments=EnvironmentPool(lacking), store=Store(),
                      listener=NotedActivity(), sampler=None,
                      earlier=earlier)  # fmt: skip
        made = Search(comparison, bench)
        made.comparison_found = made.settle()
        made.limits = limits
        return made

    return settle


def fitting(**limits):
    def run(label, case):
        if case.batch_size > limits[label]:
            raise CaseEnded("oom", "too large")
        return 0.1

    return run


def test_all_frameworks_get_the_largest_batch_that_fits_each_of_them(settle):
    made = settle(fitting(tiny=200, flaky=100), batch=("max",))
    assert {e.case.batch_size for e in made.comparison_found.entries} == {100}
    assert made.comparison_found.settled
    assert [found.chosen for found in made.store.searches] == [200, 100]
    tried = made.store.searches[1].tried
    assert next(t.value for t in tried if t.outcome == "ok") == 64
    assert {t.outcome for t in tried} == {"ok", "oom"}
    assert made.ended == {}


def test_workers_that_live_side_by_side_share_the_memory(settle):
    assert settle(fitting(tiny=9, flaky=9), batch=("max",)).limits == {500}
    alone = settle(fitting(tiny=9, flaky=9), batch=("max",), protocol=PRESETS["dlperf"])
    assert alone.limits == {1000}


def test_workers_on_nodes_share_the_memory_of_the_smallest_that_is_used(settle, machine):
    """Whatever the machine has that runs mbench."""
    nodes = {
        host: SimpleNamespace(system=machine(memory_bytes=size))
        for host, size in (("one", 10_000), ("two", 20_000), ("spare", 5_000))
    }
    launcher = SimpleNamespace(machines=lambda: nodes)
    run = fitting(tiny=9, flaky=9)
    assert settle(run, batch=("max",), launcher=launcher).limits == {4_500}
    alone = settle(run, batch=("max",), launcher=launcher, protocol=PRESETS["dlperf"])
    assert alone.limits == {9_000}


def test_what_does_not_fit_at_all_ends_and_does_not_hold_the_others_back(settle):
    made = settle(fitting(tiny=0, flaky=32), batch=("max",))
    assert {e.case.batch_size for e in made.comparison_found.entries} == {32}
    assert made.ended["tiny"].outcome == "oom"
    assert "batch size 1: too large" in made.ended["tiny"].reason
    assert made.store.searches[0].chosen is None


def test_what_has_no_environment_ends_with_its_reason(settle):
    made = settle(fitting(tiny=9, flaky=9), batch=("max",), lacking=("tiny",))
    assert (made.ended["tiny"].outcome, made.ended["tiny"].reason) == ("failed", "no environment")
    assert {e.case.batch_size for e in made.comparison_found.entries} == {9}


def test_each_framework_gets_its_fastest_compiler(settle):
    made = settle(lambda label, case: {"eager": 0.2, "steady": 0.1}[case.compiler],
                  compilers=("best",))  # fmt: skip
    assert [e.case.compiler for e in made.comparison_found.entries] == ["eager", "steady"]
    (_, flaky) = made.store.searches
    assert flaky.chosen == "steady"
    assert [(t.value, t.outcome) for t in flaky.tried] == [
        ("eager", "ok"), ("imaginary", "unsupported"), ("steady", "ok"),
    ]  # fmt: skip
    assert [t.processes for t in flaky.tried] == [[0.2], [], [pytest.approx(0.1)]]
    assert flaky.tied == []


def test_compilers_that_are_nearly_as_fast_are_named_beside_the_chosen_one(settle):
    chance = random.Random(0)

    def run(label, case):
        return {"eager": 0.101, "steady": 0.1}[case.compiler] * chance.uniform(0.97, 1.03)

    flaky = settle(run, compilers=("best",)).store.searches[1]
    assert {flaky.chosen, *flaky.tied} == {"eager", "steady"}
    assert [len(t.processes) for t in flaky.tried] == [REPETITIONS, 0, REPETITIONS]


def test_a_search_that_was_finished_is_not_made_again(settle):
    times = {"eager": 0.2, "steady": 0.1}
    found = settle(lambda label, case: times[case.compiler], compilers=("best",)).store.searches
    earlier = SimpleNamespace(searches=[replace(found[1], chosen="eager")])
    made = settle(lambda label, case: times[case.compiler], compilers=("best",), earlier=earlier)
    assert [e.case.compiler for e in made.comparison_found.entries] == ["eager", "eager"]
    assert [search.label for search in made.store.searches] == ["tiny"]
    fell_short = SimpleNamespace(searches=[replace(found[1], chosen=None)])
    made = settle(lambda *_: 0.1, compilers=("best",), earlier=fell_short)
    assert list(made.ended) == ["flaky"]


def test_the_best_is_found_where_the_default_is_not_supported(settle, monkeypatch):
    ask = search.supports

    def without_eager(adapter, case):
        return Support.no("not eager") if case.compiler == "eager" else ask(adapter, case)

    monkeypatch.setattr(search, "supports", without_eager)
    made = settle(lambda label, case: 0.1, compilers=("best",))
    assert [e.case.compiler for e in made.comparison_found.entries] == ["eager", "steady"]
    assert list(made.ended) == ["tiny"]
    assert [found.label for found in made.store.searches] == ["flaky"]


def test_a_compiler_that_fails_is_not_the_best(settle):
    def run(label, case):
        if case.compiler == "steady":
            raise CaseEnded("crashed", "gone")
        return 0.2

    made = settle(run, compilers=("best",))
    assert [e.case.compiler for e in made.comparison_found.entries] == ["eager", "eager"]


def test_the_best_compiler_is_looked_for_at_a_usual_batch_and_before_the_largest(settle):
    seen = []

    def run(label, case):
        seen.append((label, case.compiler, case.batch_size))
        if case.batch_size > 64:
            raise CaseEnded("oom", "too large")
        return {"eager": 0.2, "steady": 0.1}[case.compiler]

    made = settle(run, batch=("max",), compilers=("best",))
    assert seen[:3] == [("tiny", "eager", 64), ("flaky", "eager", 64), ("flaky", "steady", 64)]
    assert {e.case.batch_size for e in made.comparison_found.entries} == {64}
    assert {c for label, c, _ in seen[3:] if label == "flaky"} == {"steady"}


def test_best_stands_beside_the_default(plugins):
    sweep = of_tiny(compiler=("best",))
    default, best = plan(sweep, plugins)
    assert (default.settled, best.settled) == (True, False)
    assert best.title == default.title + ", best"


def test_sweeps_are_numbered_through(plugins):
    one = of_tiny(batch_size=(1, 2))
    made = plan(replace(one, sweeps=2 * one.sweeps), plugins)
    assert [comparison.number for comparison in made] == [0, 1, 2, 3]
    assert [e.number for comparison in made for e in comparison.entries] == list(range(8))
