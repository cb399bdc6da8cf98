"""Turns are in random order, and nobody has two in a row."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from mbench.measure.rounds import next_order


def turns_of(ones, *, rounds, seed=0):
    chance, turns = random.Random(seed), []
    for _ in range(rounds):
        made = next_order(ones, last=turns[-1] if turns else None, chance=chance)
        assert sorted(made) == sorted(ones)
        turns += made
    return turns


@pytest.mark.parametrize("ones", ["ab", "abc", "abcdef"])
def test_nobody_has_two_turns_in_a_row(ones):
    turns = turns_of(ones, rounds=200)
    assert all(one != following for one, following in pairwise(turns))


def test_two_alternate_and_either_may_begin():
    begun = {turns_of("ab", rounds=3, seed=seed)[0] for seed in range(9)}
    assert begun == {"a", "b"}
    assert turns_of("ab", rounds=3) in (list("ababab"), list("bababa"))


def test_every_one_follows_every_other_one_about_as_often():
    turns = turns_of("abc", rounds=3000)
    counts = Counter(pairwise(turns))
    assert len(counts) == 6
    assert all(0.9 < count / 1500 < 1.1 for count in counts.values())


def test_one_alone_has_all_turns():
    assert turns_of("a", rounds=3) == ["a"] * 3
