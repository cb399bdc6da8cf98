"""How long a turn should be: the scatter of a ratio that was measured for as long by other turns.

Usage: python benchmarks/turns.py [--frameworks torch,tf] [--cycles 12] [--seconds 5]

Two warm workers take turns. Each turn is a lead of untimed steps and a block of timed ones. In
every cycle, each way of taking turns, in random order, gets the same wall-clock time and gives one
ratio, the median of its rounds. The scatter of these over the cycles is what that time buys. Means
that differ by more than their errors would show that a lead is too short.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from statistics import fmean, median
from typing import TYPE_CHECKING

from workers import ask_for_case, block, warm_worker_of_each

from mbench.stats import stdev

if TYPE_CHECKING:
    from mbench.engine.local import Worker

WAYS = ((0.25, 1.0), (0.25, 0.25), (0.1, 0.25), (0.1, 0.1), (0.05, 0.1), (0.02, 0.05))
"""Seconds of lead and block."""


def log_ratio(
    workers: list[tuple[Worker, float]], way: tuple[float, float], *, seconds: float,
    order: random.Random,
) -> tuple[float, int]:  # fmt: skip
    """Ratio of the second of `workers` to the first, each with its step's seconds; the rounds."""
    lead, length = way
    ratios, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        rates = [0.0, 0.0]
        for which in order.sample((0, 1), 2):
            worker, step = workers[which]
            rates[which] = block(worker, max(1, round(length / step)), lead=round(lead / step))
        ratios.append(math.log(rates[1] / rates[0]))
    return median(ratios), len(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description="what the length of a turn is worth")
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each way in a cycle")
    ask_for_case(parser, image_size=64)
    arguments = parser.parse_args()
    order = random.Random(0)
    with warm_worker_of_each(arguments) as made:
        workers = list(made.values())
        found: dict[tuple[float, float], list[tuple[float, int]]] = {way: [] for way in WAYS}
        for _ in range(arguments.cycles):
            for way in order.sample(WAYS, len(WAYS)):
                one = log_ratio(workers, way, seconds=arguments.seconds, order=order)
                found[way].append(one)
    print("lead    block   rounds   ratio            scatter")
    for (lead, length), of_cycles in found.items():
        logs = [value for value, _ in of_cycles]
        scatter = stdev(logs)
        print(
            f"{lead:.2f} s  {length:.2f} s  {fmean(rounds for _, rounds in of_cycles):6.1f}   "
            f"{math.exp(fmean(logs)):.3f} +- {scatter / math.sqrt(len(logs)):.3f}  "
            f"{100 * scatter:6.1f} %"
        )


if __name__ == "__main__":
    main()
