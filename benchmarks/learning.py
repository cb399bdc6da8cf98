"""How often `mbench train` is wrong about who learns alike, and how often it says nothing.

Usage: python benchmarks/learning.py [--trials 400]

Each trial makes up a training run of two frameworks on the task `glyphs`: every seed's evaluations,
from log-normal steps to target and normal final accuracies. It is judged by the same code as a real
run (`mbench.learning.analyse`). "Learn alike" should occur in at most 5 % of trials where a
difference is a margin or more; "do not learn alike" in at most 5 % where both are within. Where
nothing differs, "learn alike" should occur as often as the printed power says: the last columns are
the power for the true scatter, and the mean of what the trials printed, which know only their own
data. The last line says how often A/A runs are called different.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from mbench.learning.analyse import ALIKE, DIFFERENT, NOT_SHOWN, analyse
from mbench.learning.record import Arm, Record
from mbench.learning.task import find_task
from mbench.plugins.manager import Plugins
from mbench.results.training import Evaluation, SeedRun
from mbench.stats.equivalence import power

if TYPE_CHECKING:
    from mbench.learning.analyse import PairSummary

TASK = find_task("glyphs", Plugins())
STEPS, EVERY = TASK.lesson.steps, TASK.every
MIDDLE, FINAL, FINAL_SCATTER = 100.0, 0.97, 0.0025
"""Steps to target in the middle; final accuracy, and its standard deviation over seeds."""
SLOPE = 0.0005
"""How much accuracy grows in a step, near the target."""
SEEDS, SPREADS = (2, 3, 5, 10, 20), (0.01, 0.03, 0.06, 0.10, 0.15)
OFF = (0, 0), (0.9, 0.9), (1, 0), (0, 1), (2, 0)
"""True differences of steps to target and of the final accuracy, in margins."""
WORDS = ALIKE, DIFFERENT, NOT_SHOWN


def record(seeds: int) -> Record:
    arms = [
        Arm(label=label, framework=label, precision="fp32", compiler="default", device="cpu",
            threads=1)
        for label in ("one", "other")
    ]  # fmt: skip
    return Record(
        id="made-up", task=asdict(TASK), task_digest="", data_digest="", seeds=seeds, machine="",
        arms=arms, runs={arm.label: {} for arm in arms},
    )  # fmt: skip


def run_of(seed: int, *, crossing: float, final: float) -> SeedRun:
    """A curve whose mean of the last evaluations reaches the target at that step, if finite."""
    seen, behind = [], EVERY * (TASK.average - 1) / 2
    for step in range(EVERY, STEPS + 1, EVERY):
        way = step + behind - crossing if math.isfinite(crossing) else -1e9
        level = final if step == STEPS else max(0.1, TASK.target.value + SLOPE * way)
        seen.append(Evaluation(step=step, accuracy=level, loss=1.0, seconds=0.1))
    return SeedRun(
        seed=seed, losses=[1.0] * STEPS, evaluations=seen,
        step_seconds=[1.0] * len(seen), setup_seconds=1.0,
    )  # fmt: skip


def made_up(
    random: np.random.Generator, seeds: int, spread: float, *, off: tuple[float, float],
    common: float, missing: float,
) -> Record:  # fmt: skip
    """A run; `missing` is the share of seeds that miss the target, equal in both."""
    found = record(seeds)
    share, rest = math.sqrt(common), math.sqrt(1 - common)
    own, shared = random.standard_normal((2, 2, seeds)), random.standard_normal((2, seeds))
    draws = share * shared + rest * own  # framework, figure, seed
    missed = random.random((2, seeds)) < missing
    for at, label in enumerate(("one", "other")):
        steps = spread * draws[at, 0] + at * off[0] * math.log1p(TASK.margin.steps)
        finals = FINAL + FINAL_SCATTER * draws[at, 1] + at * off[1] * TASK.margin.final
        for seed in range(seeds):
            crossing = math.inf if missed[at, seed] else MIDDLE * math.exp(steps[seed])
            run = run_of(seed, crossing=crossing, final=float(finals[seed]))
            found.runs[label][seed] = run
    return found


def judged(*arguments: object, **settings: object) -> PairSummary:
    found = made_up(*arguments, **settings)  # type: ignore[arg-type]
    return analyse(found).pairs[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    cases = [
        *((seeds, spread, 0.0, off, 0.0) for seeds, spread, off in
          itertools.product(SEEDS, SPREADS, OFF)),
        *((10, 0.06, 0.8, off, 0.0) for off in OFF),
        *((seeds, 0.06, 0.0, (0, 0), missing) for seeds in SEEDS for missing in (0.1, 0.5)),
    ]  # fmt: skip
    print("| seeds | spread | common | off by margins | missing | alike | different | not shown "
          "| power | printed |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    same: Counter[str] = Counter()
    for seeds, spread, common, off, missing in cases:
        pairs = [
            judged(random, seeds, spread, off=off, common=common, missing=missing)
            for _ in range(given.trials)
        ]
        told = Counter(pair.verdict for pair in pairs)
        if off == (0, 0):
            same += told
        shown = " | ".join(f"{told[word] / given.trials:.1%}" for word in WORDS)
        apart = math.sqrt(2 * (1 - common))
        figures = [(apart * spread, math.log1p(TASK.margin.steps)),
                   (apart * FINAL_SCATTER, TASK.margin.final)]  # fmt: skip
        powers = [0.0] if missing else [pair.power for pair in pairs if pair.power is not None]
        true = math.prod(power(seeds, *figure) for figure in figures)
        promised = f"{true:.1%} | {fmean(powers):.1%}"
        both = f"{off[0]:g}, {off[1]:g}"
        known = promised if off == (0, 0) and not missing else "- | -"
        print(f"| {seeds} | {spread:.0%} | {common:g} | {both} | {missing:.0%} | {shown} "
              f"| {known} |", flush=True)  # fmt: skip
    total = sum(same.values())
    print(f"\nA/A: {same[DIFFERENT]} of {total} do not learn alike ({same[DIFFERENT] / total:.2%})")


if __name__ == "__main__":
    main()
