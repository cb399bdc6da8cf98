"""Mistakes in an adapter's description that are found without its framework."""

from __future__ import annotations

from dataclasses import replace

import mbench_tiny
import pytest

from mbench.contract.tier import Tier
from mbench.plugins.description import mistakes
from mbench.sdk.plugin import Lack

TIER = Tier(says="all of it", source="a page", compilers=("eager",))


def adapter(**changes):
    made = mbench_tiny.Tiny()
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_a_right_description_has_none():
    assert list(mistakes(adapter())) == []


@pytest.mark.parametrize(
    ("lack", "said"),
    [
        ({"precisions": ("bfloat16",)}, "lacks: precisions has 'bfloat16', which is not known"),
        ({"compilers": ("egaer",)}, "did you mean eager?"),
        ({"devices": ("gpu",)}, "lacks: devices has 'gpu', which is not known"),
        ({"modes": ("training",)}, "did you mean train?"),
        ({"families": ("resnets",)}, "did you mean resnet?"),
    ],
)
def test_words_that_name_nothing(lack, said):
    (found,) = mistakes(adapter(lacks=(Lack("not here", **lack),)))
    assert said in found


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("caches", ("lama",), "caches has 'lama', which is not known; did you mean llama?"),
        ("checkpoints", ("brt",), "did you mean bert?"),
        ("switches", ("egaer",), "switches has 'egaer', which is not known; did you mean eager?"),
        ("switches", "eager", ""),
        ("feeds", ("file",), "did you mean files?"),
        ("tiers", {"best": TIER}, "tiers has 'best', which is not known"),
        ("tiers", {"tuned": replace(TIER, compilers=("egaer",))}, "tier tuned has 'egaer'"),
        ("quantized", "mbench_tiny:Quantised", "quantized: mbench_tiny has no class Quantised"),
    ],
)
def test_other_words_that_name_nothing(member, value, said):
    parts = {"models": "mbench.workloads", "caches": (), member: value}
    found = list(mistakes(adapter(**parts)))
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_operators_and_ones_own_families_may_be_named():
    rows = (Lack("not here", families=("conv2d", "lstm", "all_reduce")),)
    assert list(mistakes(adapter(lacks=rows))) == []


@pytest.mark.parametrize(
    ("runtime", "said"),
    [
        ("mbench_tiny:Runtim", "runtime: mbench_tiny has no class Runtim; did you mean Runtime?"),
        ("mbench_tinny:Runtime", "runtime: there is no module mbench_tinny"),
    ],
)
def test_a_runtime_that_is_not_there(runtime, said):
    assert list(mistakes(adapter(runtime=runtime))) == [said]


def test_every_adapter_of_this_environment_is_spelled_right(plugins):
    for name, one in plugins.adapters.unique().items():
        assert list(mistakes(one)) == [], name
