"""What the order of turns is worth: shuffled each round, or so that nobody has two in a row.

Usage: python benchmarks/order.py [--frameworks torch,tf] [--seconds 520] [--steady]

Two warm workers take turns of one step or a quarter of a second. Groups of eight rounds use one
order and then the other; either may come first. Each group gives one ratio, of totals. The scatter
of these is the remaining error of a comparison of that many rounds; the noise of rounds is that
within groups.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from contextlib import nullcontext
from statistics import fmean

from workers import ask_for_case, turn, warm_worker_of_each

from mbench.machine import memory_layout
from mbench.measure.rounds import next_order
from mbench.stats import Pair, pair_of, stdev

ROUNDS = 8
ORDERS = ("shuffled", "nobody twice in a row")


def main() -> None:
    parser = argparse.ArgumentParser(description="what the order of turns is worth")
    parser.add_argument("--seconds", type=float, default=520.0)
    parser.add_argument("--steady", action="store_true", help="huge pages, fixed addresses")
    ask_for_case(parser, image_size=224)
    arguments = parser.parse_args()
    chance = random.Random(0)
    found: dict[str, list[Pair]] = {order: [] for order in ORDERS}
    os.environ.update(memory_layout.variables() if arguments.steady else {})
    with (
        memory_layout.steadily(arguments.threads) if arguments.steady else nullcontext(),
        warm_worker_of_each(arguments) as workers,
    ):
        baseline, other = workers
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            for order in chance.sample(ORDERS, len(ORDERS)):
                rates: dict[str, dict[int, float]] = {name: {} for name in workers}
                last = None
                for at in range(ROUNDS):
                    heeded = None if order == "shuffled" else last
                    for name in next_order(list(workers), last=heeded, chance=chance):
                        last = name
                        rates[name][at] = turn(*workers[name])
                if pair := pair_of(rates[baseline], rates[other]):
                    found[order].append(pair)
    print(f"{other} by {baseline}, groups of {ROUNDS} rounds")
    for order, pairs in found.items():
        logs = [math.log(pair.total) for pair in pairs]
        noise = math.sqrt(fmean(pair.error for pair in pairs) * ROUNDS)
        print(
            f"{order:22} {len(pairs)} groups, ratio {math.exp(fmean(logs)):.3f}, scatter of groups "
            f"{100 * stdev(logs):.1f} %, noise of a round {100 * noise:.1f} %"
        )


if __name__ == "__main__":
    main()
