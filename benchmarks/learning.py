"""How often `mbench train` is wrong about who learns alike, and how often it says nothing.

Usage: python benchmarks/learning.py [--trials 4000]

Each trial makes up the seeds of two frameworks: steps to target, log-normal, and final accuracy,
normal, with a share that both have in common by seed. They are judged as a training run is
(`mbench.learning.analyse`). Printed are, by the true differences in margins: how often the verdict
is "learn alike", "do not learn alike" and "not shown"; and beside it the power that is promised for
such a scatter. "Learn alike" should come in at most 5 % of trials where a difference is a margin or
more; "do not learn alike" in at most 5 % where both are within.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np

from mbench.stats.equivalence import equivalence, misses_differ, power

MARGINS = math.log(1.05), 0.005
"""Of steps to target, as a logarithm, and of accuracy: those of the task `glyphs`."""
SCATTER = 0.04, 0.0025
"""Of single seeds."""


def verdict(random: np.random.Generator, seeds: int, *, off: tuple[float, float], common: float,
            missing: float) -> str:  # fmt: skip
    """Of one trial; `off` are true differences in margins, `missing` the share of seeds that miss
    the target in both alike.
    """
    found = []
    for margin, scatter, away in zip(MARGINS, SCATTER, off, strict=True):
        shared = random.normal(0, scatter, seeds)
        own = random.normal(0, scatter, (2, seeds))
        one, other = math.sqrt(common) * shared + math.sqrt(1 - common) * own
        found.append(equivalence((other - one + away * margin).tolist(), margin).verdict)
    misses = random.random((2, seeds)) < missing
    if misses.any():
        return "different" if misses_differ(*misses.tolist()) else "not shown"
    if "different" in found:
        return "different"
    return "alike" if found == ["alike", "alike"] else "not shown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    print("seeds  common  off by (margins)  missing  alike  different  not shown  power")
    for seeds in (5, 10, 20):
        for common in (0.0, 0.8):
            for off in ((0, 0), (0.5, 0), (0.99, 0.99), (1, 0), (0, 1), (1, 1), (2, 0)):
                for missing in (0.0, 0.1) if off == (0, 0) else (0.0,):
                    told = Counter(
                        verdict(random, seeds, off=off, common=common, missing=missing)
                        for _ in range(given.trials)
                    )
                    shares = [told[word] / given.trials
                              for word in ("alike", "different", "not shown")]  # fmt: skip
                    promised = math.prod(
                        power(seeds, scatter * math.sqrt(2 * (1 - common)), margin, away * margin)
                        for margin, scatter, away in zip(MARGINS, SCATTER, off, strict=True)
                    )
                    print(f"{seeds:5}  {common:6}  {off!s:>16}  {missing:7}  " + "  ".join(
                        f"{share:9.3f}" for share in shares) + f"  {promised:.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
