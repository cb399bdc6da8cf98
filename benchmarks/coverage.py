"""How often intervals hold the truth, by simulation on noise and offsets that were measured.

Usage: python benchmarks/coverage.py [--trials 4000] [--noise benchmarks/noise/two-cores.json]

Each trial measures two imaginary frameworks, whose ratio is known, by the default protocol: turns
of 0.25 s one after the other, and 30 rounds. Each block takes as long as the recorded steps
(record.py) that it happens to fall on, so bursts and autocorrelation are the machine's own. Each
pair has a new offset, drawn from the distribution of 100 pairs of identical workers (verdicts.py):
half of them within 1.6 %, 4 of 100 off by 11 to 31 %. With --builds, half of that variance is drawn
again for each build, since builds of a hand-written loop vary as much as processes do. Outlying
pairs are outliers in all their builds. With --offset 0.2, processes differ as much as steady
workers do. The calibrations are from a day that was noisier or calmer by a third. A nominal 95 %
interval should contain the truth in 95 % of the trials. Intervals that are narrow by luck do so
less often, and are listed separately.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from mbench.measure.stopping import narrow_enough
from mbench.spec.adaptive import Adaptive
from mbench.stats import (
    CONFIDENCE,
    STOPPED_CONFIDENCE,
    Interval,
    Pair,
    Ratio,
    Scatter,
    known_scatter,
    pair_of,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUE_RATIO = 1.1
LEAD, STEPS = 1, 3  # of 0.08 s each: what fits in 0.1 and 0.25 s
CORE = 0.016 / 0.6745  # half of the pairs within 1.6 %
FAR, FAR_RATIOS = 0.04, np.log([0.69, 0.82, 1.11, 1.17])
OWN = 0.5  # each build's own share of the usual variance of pairs
DAY = 0.35  # how much the scatter differs from one day to another
CALIBRATED = 10  # pairs


class Machine:
    """Replays recorded noise, from a random moment for each pair."""

    def __init__(
        self, path: Path, *, rounds: int, seed: int, builds: int = 1, offset: float = 1.0
    ) -> None:
        steps = np.array(json.loads(path.read_text())["microseconds"], dtype=float)
        self.until = np.concatenate([[0.0], np.cumsum(np.tile(steps / steps.mean(), 2))])
        self.length, self.rounds, self.builds = len(steps), rounds, builds
        self.random = np.random.default_rng(seed)
        self.core = CORE * offset

    def pairs(self, *, true: float, scale: float = 1.0, far: float = FAR) -> Iterator[Pair]:
        """Endless pairs; their offsets are `scale` times those measured."""
        turns = np.arange(2 * self.rounds) * (LEAD + STEPS) + LEAD
        while True:
            begin = (self.random.integers(self.length) + turns) % self.length
            blocks = (self.until[begin + STEPS] - self.until[begin]).reshape(self.rounds, 2)
            if self.random.random() < 0.5:  # which one begins
                blocks = blocks[:, ::-1]
            offset = self.random.normal(0, self.core * scale * math.sqrt(1 - OWN))
            if self.random.random() < far:
                offset = self.random.choice(FAR_RATIOS) * self.random.choice((-1, 1))
            luck = self.random.normal(0, self.core * scale * math.sqrt(OWN), self.builds)
            own = luck[np.arange(self.rounds) * self.builds // self.rounds]
            base, other = 1 / blocks[:, 0], true * np.exp(offset + own) / blocks[:, 1]
            pair = pair_of(dict(enumerate(base.tolist())), dict(enumerate(other.tolist())))
            assert pair is not None
            yield pair

    def day(self) -> float:
        return math.exp(self.random.normal(0, DAY))

    def calibrations(self, *, far: float) -> Scatter | None:
        """Calibrations of both frameworks, each on another day."""
        return known_scatter(
            [
                [pair.total for pair, _ in zip(self.pairs(true=1.0, scale=self.day(), far=far),
                                               range(CALIBRATED), strict=False)]
                for _ in range(2)
            ]
        )  # fmt: skip


def fixed(pairs: Iterator[Pair], *, count: int, known: Scatter | None) -> Ratio:
    """A measurement with `--processes`."""
    return Ratio([next(pairs) for _ in range(count)], known)


def stopped(pairs: Iterator[Pair], *, goal: float, known: Scatter | None) -> Ratio:
    """A measurement with `--until`, at the level that it stops at and prints."""
    found: list[Pair] = []
    widths: list[float | None] = []
    protocol = Adaptive()
    while len(found) < 10 * protocol.most_processes:
        found.append(next(pairs))
        widths.append(Ratio(found, known).interval(STOPPED_CONFIDENCE).half_width)
        if narrow_enough(widths, goal=goal, fewest=protocol.processes):
            break
    return Ratio(found, known)


def share(held: list[bool]) -> str:
    if not held:
        return "     -      "
    mean = fmean(held)
    error = 1.96 * math.sqrt(mean * (1 - mean) / len(held))
    return f"{100 * mean:5.1f} % +- {100 * error:3.1f}"


def holds(interval: Interval) -> bool:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low <= TRUE_RATIO <= interval.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=Adaptive().most_rounds)
    parser.add_argument("--builds", type=int, default=Adaptive().builds)
    parser.add_argument("--offset", type=float, default=1.0, help="of processes, times the usual")
    parser.add_argument("--far", type=float, default=FAR, help="share of pairs that lie far off")
    parser.add_argument("--seed", type=int, default=0)
    here = Path(__file__).parent / "noise/two-cores.json"
    parser.add_argument("--noise", type=Path, default=here)
    arguments = parser.parse_args()
    machine = Machine(arguments.noise, rounds=arguments.rounds, seed=arguments.seed,
                      builds=arguments.builds, offset=arguments.offset)  # fmt: skip
    print(f"{arguments.trials} trials of {arguments.rounds} rounds of {STEPS} steps, builds of a "
          f"process: {arguments.builds}, offsets {arguments.offset:g} times the usual")  # fmt: skip
    print("pairs  until  calibrated   holds the truth   half-width   found 3 %   said to stall"
          "   the narrowest quarter")  # fmt: skip
    plans: list[tuple[int, float | None]] = [(3, None), (5, None), (10, None), (20, None)]
    for count, goal in [*plans, (0, 0.03), (0, 0.02)]:
        for calibrated in (False, True):
            ratios = []
            for _ in range(arguments.trials):
                known = machine.calibrations(far=arguments.far) if calibrated else None
                pairs = machine.pairs(true=TRUE_RATIO, scale=machine.day(), far=arguments.far)
                ratios.append(
                    fixed(pairs, count=count, known=known)
                    if goal is None
                    else stopped(pairs, goal=goal, known=known)
                )
            report(ratios, goal=goal, calibrated=calibrated)


def report(ratios: list[Ratio], *, goal: float | None, calibrated: bool) -> None:
    level = CONFIDENCE if goal is None else STOPPED_CONFIDENCE
    intervals = [ratio.interval(level) for ratio in ratios]
    # A difference of 3 % is found if an interval of the same width around it excludes 1.
    found = [i.low * 1.03 / TRUE_RATIO > 1 for i in intervals if i.low is not None]
    stalls = [verdicts([ratio], confidence=level)[0] == "depends on stalls" for ratio in ratios]
    by_width = sorted(intervals, key=lambda i: i.half_width or 1.0)
    narrow = [holds(i) for i in by_width[: len(by_width) // 4]]
    count = median(len(ratio.pairs) for ratio in ratios)
    print(
        f"{count:5.0f}  {f'{100 * goal:3.0f} %' if goal else '   - '}  "
        f"{'yes' if calibrated else 'no':>10}   {share(list(map(holds, intervals)))}   "
        f"{100 * median(i.half_width or 0.0 for i in intervals):8.2f} %   "
        f"{100 * fmean(found):7.0f} %   {100 * fmean(stalls):11.1f} %   "
        f"{share(narrow)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
