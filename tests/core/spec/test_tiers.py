"""Tiers choose compilers, and an adapter without advice says so."""

from __future__ import annotations

import pytest
from mbench_tiny import Tiny
from support.experiments import asked

from mbench.contract.tier import Tier, tier_of
from mbench.errors import UsageError
from mbench.spec.planning import plan


class Tuned(Tiny):
    """Its compilers depend on the mode and on the device."""

    name = "tuned"
    title = "Tuned"
    compilers = {"eager": "one by one", "graph": "whole", "frozen": "inference"}  # noqa: RUF012
    tiers = {  # noqa: RUF012
        "default": Tier(says="plain", source="Tour", compilers=("eager",), on_cuda=("graph",)),
        "tuned": Tier(says="tuned", source="Guide", compilers=("frozen", "graph")),
    }

    def model_file(self, workload):
        return "mbench_tiny"

    def lacking(self, **words):
        if (words.get("compiler"), words.get("mode")) == ("frozen", "train"):
            return "frozen does not train"
        return super().lacking(**words)


@pytest.fixture
def plugins(plugins):
    plugins.adapters.add("tuned", "tuned_plugin", Tuned())
    return plugins


def found(plugins, *frameworks, device="cpu", **wanted):
    """For each comparison: tier, whether the best compiler is searched for, entries' compilers."""
    wanted = {"model": ("tiny-model",), **wanted}
    sweep = asked(frameworks=frameworks, wanted=wanted, device=device)
    return [
        (one.entries[0].case.tier, one.best_compiler, *(e.case.compiler for e in one.entries))
        for one in plan(sweep, plugins)
    ]


def test_a_tier_has_the_first_of_its_compilers_that_can_do_the_case(plugins):
    modes = ("train", "inference")
    assert found(plugins, "tuned", mode=modes) == [("default", False, "eager")] * 2
    assert found(plugins, "tuned", mode=modes, tier=("tuned",)) == [
        ("tuned", False, "graph"), ("tuned", False, "frozen"),
    ]  # fmt: skip
    assert found(plugins, "tuned", device="cuda") == [("default", False, "graph")]


def test_a_compiler_that_is_asked_for_is_taken_whatever_the_tier(plugins):
    (one,) = plan(asked(frameworks=["tuned"], wanted={"model": ["tiny-model"],
                  "tier": ["tuned"], "compiler": ["eager"]}), plugins)  # fmt: skip
    (entry,) = one.entries
    assert (entry.case.tier, entry.case.compiler) == ("tuned", "eager")
    assert not entry.own_compiler


def test_all_is_each_tier_and_the_best_is_found_once(plugins):
    for compilers in ((), ("default", "best")):
        tiers = [one[:2] for one in found(plugins, "tuned", tier=("all",), compiler=compilers)]
        plain = [(tier, sought) for tier in ("default", "tuned")
                 for sought in ((False, True) if compilers else (False,))]  # fmt: skip
        assert tiers == [*plain, ("best", True)]


def test_the_best_does_not_go_with_a_compiler_by_name(plugins):
    with pytest.raises(UsageError, match="finds its own compiler; leave eager out"):
        found(plugins, "tuned", tier=("best",), compiler=("eager",))


def test_an_unknown_tier_is_refused_with_what_there_is(plugins):
    with pytest.raises(UsageError, match="unknown tier 'advise'"):
        found(plugins, "tuned", tier=("advise",))


def test_an_adapter_without_tiers_is_as_it_comes_and_has_no_advice(plugins):
    (one,) = plan(asked(frameworks=["tuned", "tiny"], wanted={"model": ["tiny-model"],
                  "tier": ["tuned"]}), plugins)  # fmt: skip
    tuned, tiny = one.entries
    assert tuned.support.supported
    assert tiny.support.reason == ("Tiny's adapter gives no advice: use --tier default or best")
    for tier in ("default", "best"):
        plain = tier_of(Tiny(), tier)
        assert plain is not None
        assert (*plain.compilers, *plain.variables, *plain.settings) == ("eager",)
    assert tier_of(Tuned(), "best") is Tuned.tiers["tuned"]
