"""How often two identical frameworks get a winner, by simulation with mbench's own functions.

Usage: python benchmarks/false_winners.py [--trials 4000]

Pairs of processes scatter by 2.4 %, and one in 25 is an outlier, as measured on two cores. Every
interval claims 95 %, so at most 5 of 100 comparisons may name a winner. Each line is a way to get
more: a calibration from a calmer day, a run interrupted at its first winner, the best of several
runs on a machine whose state lasts for a whole run, a difference of two runs.
"""

from __future__ import annotations

import argparse
import math
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from mbench import stats
from mbench.results.facts import PastRatioRecord
from mbench.results.replication import over_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPREAD, FAR, FAR_RATIOS = 0.024, 0.04, np.log([0.69, 0.82, 1.11, 1.17])
CALIBRATED = 10
"""Number of pairs in a calibration."""


class Machine:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def pairs(self, *, scale: float = 1.0, lasting: float = 0.0) -> Iterator[stats.Pair]:
        """Pairs of two identical frameworks; `lasting` is the offset of the whole run."""
        while True:
            log = self.random.normal(0, SPREAD * scale)
            if self.random.random() < FAR:
                log = self.random.choice(FAR_RATIOS) * self.random.choice((-1, 1))
            total = math.exp(log + lasting)
            yield stats.Pair(total, total, 0.0, 1)

    def ratios(self, count: int, *, scale: float = 1.0) -> list[float]:
        return [pair.total for pair, _ in zip(self.pairs(scale=scale), range(count), strict=False)]

    def run(self, count: int, *, calm: float | None = None, spread: float = 0.0) -> stats.Ratio:
        """A run of `count` pairs, calibrated on a day that scattered 1 / `calm` times as much."""
        known = calm and stats.known_scatter([self.ratios(CALIBRATED, scale=1 / calm)] * 2)
        found = self.pairs(lasting=self.random.normal(0, spread) if spread else 0.0)
        return stats.Ratio([next(found) for _ in range(count)], known or None)


def wins(found: stats.Ratio) -> bool:
    return stats.verdicts([found])[0] in ("faster", "slower")


def calibrated(machine: Machine, *, count: int, calm: float | None) -> bool:
    return wins(machine.run(count, calm=calm))


def interrupted(machine: Machine, *, count: int, named: bool) -> bool:
    """Ends a run at its first winner; `named` says whether an interrupted run names one."""
    found = machine.run(count)
    peeks = range(stats.FEWEST, count + 1) if named else [count]
    return any(wins(stats.Ratio(found.pairs[:made])) for made in peeks)


def chosen(machine: Machine, *, runs: int, spread: float, together: bool) -> bool:
    """The last of several runs; `together`: from three runs on, all must agree."""
    made = [machine.run(5, spread=spread) for _ in range(runs)]
    if not wins(made[-1]):
        return False
    if not together:
        return True
    past = []
    for found in made[:-1]:
        interval = found.interval()
        assert interval.low is not None
        assert interval.high is not None
        past.append(
            PastRatioRecord(baseline=0, run="", started="", ratio=interval.value,
                            low=interval.low, high=interval.high, process_pairs=5)
        )  # fmt: skip
    every = over_runs(made[-1].interval(), past)
    return every is None or every.agrees_with(stats.verdicts([made[-1]])[0])


def differing(machine: Machine, *, runs: int, spread: float) -> bool:
    """`mbench diff` of two equal versions, with `runs` runs of 5 processes on each side."""

    def side() -> list[float]:
        lasting = machine.random.normal(0, spread, runs) if spread else np.zeros(runs)
        made = [[pair.total for pair, _ in zip(machine.pairs(lasting=one), range(5), strict=False)]
                for one in lasting]  # fmt: skip
        if runs == 1:
            return made[0]
        return [stats.geometric_interval(values).value for values in made]

    return stats.verdict(stats.contrast(side(), side())) in ("faster", "slower")


def share(trials: int, trial: Callable[[], bool]) -> str:
    mean = fmean(trial() for _ in range(trials))
    return f"{100 * mean:5.1f} % +- {196 * math.sqrt(mean * (1 - mean) / trials):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    machine, trials = Machine(arguments.seed), arguments.trials

    print("A calibration of another day\npairs  calmer by   false winners")
    for count in (3, 5):
        for calm in (None, 0.5, 1.0, 2.0, 3.0, 5.0):
            said = "not calibrated" if calm is None else f"{calm:g} times"
            found = share(trials, partial(calibrated, machine, count=count, calm=calm))
            print(f"{count:5}  {said:>14}   {found}", flush=True)
    print("\nEnded at the first winner\npairs at most   if it named one       as it is")
    for count in (5, 10, 20, 30):
        peeked = share(trials // 4, partial(interrupted, machine, count=count, named=True))
        kept = share(trials // 4, partial(interrupted, machine, count=count, named=False))
        print(f"{count:13}   {peeked}   {kept}", flush=True)
    print("\nWhat lasts for a run\nits spread   runs   by its last run   with all of them")
    for spread in (0.0, 0.01, 0.02, 0.03):
        for runs in (3, 5, 10):
            alone = share(trials // 4, partial(chosen, machine, runs=runs, spread=spread,
                                                      together=False))  # fmt: skip
            every = share(trials // 4, partial(chosen, machine, runs=runs, spread=spread,
                                                      together=True))  # fmt: skip
            print(f"{100 * spread:8.0f} %   {runs:4}   {alone}   {every}", flush=True)
    print("\nA difference of equal versions\nits spread   one run a side    three             ten")
    for spread in (0.0, 0.01, 0.02, 0.03):
        found = [share(trials // 4, partial(differing, machine, runs=runs, spread=spread))
                 for runs in (1, 3, 10)]  # fmt: skip
        print(f"{100 * spread:8.0f} %   {'   '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
