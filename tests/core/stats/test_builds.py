"""How far builds lie apart, whatever differs between processes."""

from __future__ import annotations

import math
import random

import pytest

from mbench.stats import between_builds, ratio

ROUNDS, BUILDS, PROCESSES = 8, 4, 200


def sides(chance, *, process=0.05, build=0.03, noise=0.01):
    """Throughputs of both sides, by process and round; those of the baseline are all 1."""
    other = {}
    for number in range(PROCESSES):
        offset = chance.gauss(0, process)
        rounds = []
        for _ in range(BUILDS):
            luck = offset + chance.gauss(0, build)
            rounds += [math.exp(luck + chance.gauss(0, noise)) for _ in range(ROUNDS)]
        other[number] = dict(enumerate(rounds))
    return {number: dict.fromkeys(rounds, 1.0) for number, rounds in other.items()}, other


BEGINS = {number: [8, 16, 24] for number in range(PROCESSES)}


def test_what_differs_between_processes_is_not_in_it():
    found = between_builds(*sides(random.Random(0)), begins=BEGINS)
    assert found == pytest.approx(math.hypot(0.03, 0.01 / math.sqrt(ROUNDS)), rel=0.1)


def test_one_build_tells_nothing():
    assert between_builds(*sides(random.Random(0)), begins={}) is None
    assert between_builds({}, {}, begins=BEGINS) is None


def test_builds_are_no_replicates():
    base, other = sides(random.Random(1), build=0.0)
    few = [{number: side[number] for number in range(5)} for side in (base, other)]
    interval = ratio(*few).interval()
    assert interval.replicates == 5
    assert interval.half_width > 0.02, "of 5 processes, not of 20 builds"
