"""How long a turn should be: the scatter of a ratio that was measured for as long by other turns.

Usage: python benchmarks/turns.py [--frameworks torch,tf] [--cycles 12] [--seconds 5]

Two warm workers take turns, each a lead of steps that are not timed and a block of steps that are.
In every cycle each way of taking turns, in random order, has the same time on the wall and gives
one ratio, the median of its rounds. The scatter of these over the cycles is what that time buys;
means that differ by more than their errors would say that a lead is too short.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from contextlib import ExitStack
from statistics import fmean, median
from typing import TYPE_CHECKING

from workers import block, warm_workers

from mbench.plan.plan import Sweep
from mbench.stats import stdev
from mbench.telemetry.system import usable_cores

if TYPE_CHECKING:
    from mbench.engine.local import Worker

WAYS = ((0.25, 1.0), (0.25, 0.25), (0.1, 0.25), (0.1, 0.1), (0.05, 0.1), (0.02, 0.05))
"""Seconds of lead and block."""


def log_ratio(
    workers: list[tuple[Worker, float]], way: tuple[float, float], *, seconds: float,
    order: random.Random,
) -> tuple[float, int]:  # fmt: skip
    """The second of `workers`, each with the seconds of its step, against the first; the rounds."""
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
    parser.add_argument("--frameworks", default="torch,tf", help="two of them")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each way in a cycle")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=usable_cores())
    arguments = parser.parse_args()
    order, workers = random.Random(0), []
    with ExitStack() as stack:
        for name in arguments.frameworks.split(","):
            sweep = Sweep(
                frameworks=(name,), threads=arguments.threads,
                wanted={"model": (arguments.model,), "batch_size": (arguments.batch_size,)},
                sizes={"image_size": arguments.image_size},
            )  # fmt: skip
            (worker,), steps = stack.enter_context(warm_workers(1, sweep=sweep, block_seconds=1.0))
            workers.append((worker, 1 / steps))
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
