"""How often intervals hold the truth, by simulation on noise that was recorded (record.py).

Usage: python benchmarks/coverage.py [--trials 4000] [--noise benchmarks/noise/two-cores.json]

Each trial measures two imaginary frameworks whose ratio is known. Blocks take turns as in a real
comparison; each is as long as the recorded steps that it happens to fall on, so bursts and
autocorrelation are the machine's own. Each process has an offset drawn anew. A nominal 95 %
interval should hold the truth in 93 to 97 % of the trials.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

import numpy as np

from mbench.harness.stopping import narrow_enough
from mbench.stats import Interval, geometric_interval, ratio

TRUE_RATIO = 1.1
BLOCK_SECONDS = 1.0


class Machine:
    """Plays recorded noise back, from a random moment on."""

    def __init__(self, path: Path, *, seed: int) -> None:
        steps = np.array(json.loads(path.read_text())["microseconds"]) / 1e6
        self.slowness = steps / steps.mean()
        self.until = np.cumsum(steps)
        self.random = np.random.default_rng(seed)
        self.go_elsewhere()

    def go_elsewhere(self) -> None:
        """What happens between two sets is anybody's guess."""
        self.at = int(self.random.integers(len(self.slowness)))

    def block(self, rate: float) -> float:
        """Samples per second of a block that starts now, of something that does `rate` in calm."""
        begin, elapsed = self.at, 0.0
        while elapsed < BLOCK_SECONDS:
            elapsed += self.until[self.at] - (self.until[self.at - 1] if self.at else 0.0)
            self.at = (self.at + 1) % len(self.slowness)
        size = (self.at - begin) % len(self.slowness)
        return rate / float(np.take(self.slowness, range(begin, begin + size), mode="wrap").mean())


def interleaved(
    machine: Machine, *, processes: int, rounds: int, offset: float, until: float | None = None
) -> Interval:
    """The ratio's interval by mbench's own protocol; `until` a width, if one is given."""
    rates: tuple[dict, dict] = ({}, {})
    widths: list[float | None] = []
    for process in range(10 * processes):
        machine.go_elsewhere()
        speeds = [math.exp(machine.random.normal(0, offset)) * true for true in (1.0, TRUE_RATIO)]
        for at in range(rounds):
            for which in machine.random.permutation(2):
                rates[which].setdefault(process, {})[at] = machine.block(speeds[which])
        found = ratio(*rates)
        assert found is not None
        widths.append(found.half_width)
        if until is None and process + 1 == processes:
            break
        if until is not None and narrow_enough(widths, goal=until, fewest=processes):
            break
    return found


def sequential(machine: Machine, *, processes: int, rounds: int, offset: float) -> Interval:
    """The same blocks one framework after the other, by a two-sample interval of its processes."""
    logs = []
    for true in (1.0, TRUE_RATIO):
        found = []
        for _ in range(processes):
            machine.go_elsewhere()
            speed = math.exp(machine.random.normal(0, offset)) * true
            found.append(np.mean([machine.block(speed) for _ in range(rounds)]))
        logs.append(found)
    pairs = [new / base for base, new in zip(*logs, strict=True)]
    return geometric_interval(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    here = Path(__file__).parent / "noise/two-cores.json"
    parser.add_argument("--noise", type=Path, default=here)
    arguments = parser.parse_args()
    machine = Machine(arguments.noise, seed=arguments.seed)
    print(f"{arguments.trials} trials of {arguments.rounds} rounds of {BLOCK_SECONDS:g} s")
    print("processes  offset  until   holds the truth   median half-width   (one after the other)")
    for processes, offset, until in (
        (3, 0.025, None), (5, 0.0, None), (5, 0.01, None), (5, 0.025, None), (10, 0.025, None),
        (5, 0.025, 0.03), (5, 0.025, 0.02),
    ):  # fmt: skip
        settings = {"processes": processes, "rounds": arguments.rounds, "offset": offset}
        found = [interleaved(machine, until=until, **settings) for _ in range(arguments.trials)]
        line = f"{processes:9}  {100 * offset:5.1f}%  "
        line += f"{100 * until:4.0f}%   " if until else "    -   "
        line += say(found)
        if until is None:
            apart = [sequential(machine, **settings) for _ in range(arguments.trials // 4)]
            line += f"   ({say(apart)})"
        print(line, flush=True)


def say(found: list[Interval]) -> str:
    held = sum(i.low <= TRUE_RATIO <= i.high for i in found) / len(found)
    error = 1.96 * math.sqrt(held * (1 - held) / len(found))
    width = float(np.median([i.half_width for i in found]))
    return f"{100 * held:5.1f} % +- {100 * error:.1f}   {100 * width:6.2f} %"


if __name__ == "__main__":
    main()
