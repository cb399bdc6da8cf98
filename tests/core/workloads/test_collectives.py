"""What collectives return by definition, and how their bandwidths are counted."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.contract.workload import rank_seed
from mbench.scenarios.find import work_of
from mbench.workloads.operators import COLLECTIVES, OPERATORS
from mbench.workloads.operators.collectives import answers

RANKS = 3


def work(name, ranks=RANKS):
    return work_of(make_case(
        model=name, workload="mbench.workloads.operators:OPERATORS", mode="inference",
        batch_size=2, scale=f"1x{ranks}",
    ))  # fmt: skip


def config(name, ranks=RANKS):
    return work(name, ranks).workload.config


@pytest.mark.parametrize(
    ("kind", "factor", "message"),
    [("all_reduce", 4 / 3, 5), ("all_gather", 2 / 3, 15), ("reduce_scatter", 2 / 3, 15),
     ("broadcast", 1, 5), ("reduce", 1, 5), ("send_receive", 1, 5)],
)  # fmt: skip
def test_bandwidths_are_those_of_nccl_tests(kind, factor, message):
    made = work(f"op:{kind}/5")
    assert (made.message_bytes, made.bus_share) == (4 * message, pytest.approx(factor))


def test_what_computes_meanwhile_has_no_bandwidth():
    made = work("op:overlap_mul/5x6")
    assert made.message_bytes is made.bus_share is None


def test_what_ranks_get_is_made_of_what_they_give():
    given = [
        work("op:all_reduce/5").workload.batch(4, seed=7 + rank_seed(rank))["x.0"]
        for rank in range(RANKS)
    ]
    assert len({tuple(one) for one in given}) == RANKS
    total = given[0] + given[1] + given[2]
    due = {
        "all_reduce": [total] * 3,
        "all_gather": [np.concatenate(given)] * 3,
        "broadcast": [given[0]] * 3,
        "reduce": [total, None, None],
        "send_receive": [given[2], given[0], given[1]],
    }
    for kind, expected in due.items():
        found = answers(config(f"op:{kind}/5"), 7)
        for of_rank, array in zip(found, expected, strict=True):
            np.testing.assert_array_equal(of_rank.get("output.0"), array)


def test_parts_of_a_sum_are_spread_by_rank():
    of = config("op:reduce_scatter/5")
    payloads = [np.arange(15.0) + 100 * rank for rank in range(RANKS)]
    found = of.together(payloads)
    np.testing.assert_array_equal(np.concatenate(found), sum(payloads))
    assert [part.shape for part in found] == [(5,)] * RANKS


@pytest.mark.parametrize("ranks", [2, 17, 256])
def test_sums_are_exact_in_eight_bits_of_mantissa(ranks):
    below = config("op:all_reduce/5", ranks).payload().below
    assert below >= 2
    assert ranks * (below - 1) <= 256


@pytest.mark.parametrize("kind", COLLECTIVES)
def test_each_is_named_with_its_sizes(kind):
    sizes = "x".join(str(5 + at) for at, _ in enumerate(COLLECTIVES[kind].dims))
    workload = OPERATORS[f"op:{kind}/{sizes}"]
    assert workload.family == "collectives"
    assert set(workload.sizes) == set(COLLECTIVES[kind].dims)
