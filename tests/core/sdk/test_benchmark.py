"""How many batches lie on the device, and how a tier is described."""

from __future__ import annotations

import pytest

from mbench.contract.tier import Tier
from mbench.sdk.benchmark import batch_count, described


@pytest.mark.parametrize(
    ("bytes_each", "count"), [(0, 8), (10**6, 8), (2**27, 8), (2**28, 4), (2**29, 2), (2**40, 2)]
)
def test_large_batches_are_fewer(bytes_each, count):
    assert batch_count(bytes_each) == count


@pytest.mark.parametrize(
    ("compiler", "said"),
    [("plain", "one by one, channels first, as in Guide"), ("fast", "channels first, as in Guide")],
)
def test_a_tier_is_not_said_to_run_as_under_another_compiler(compiler, said):
    tier = Tier(says="channels first", source="Guide", compilers=("plain",),
                executes={"plain": "one by one"})  # fmt: skip
    assert described(tier, compiler) == [said]
