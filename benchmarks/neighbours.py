"""What a short look between turns tells of neighbours: does it go along with the steps beside it?

Usage: python benchmarks/neighbours.py [--frameworks torch,tf] [--seconds 180]

Warm workers take turns of one step or a quarter of a second. Before each turn, while all of them
are stopped, the parent times an empty loop and a copy through memory, as mbench does. Where a
neighbour on the same host slows both a look and the step after it, their times correlate; by ranks,
since one stall among hundreds of turns must not decide.
"""

from __future__ import annotations

import argparse
import random
import time
from statistics import quantiles

from scipy.stats import spearmanr
from workers import ask_for_case, block, warm_worker_of_each

from mbench.doctor.pace import unevenness
from mbench.telemetry.pace import core_pace, memory_pace

BLOCK_SECONDS = 0.25


def main() -> None:
    parser = argparse.ArgumentParser(description="what looks between turns tell of neighbours")
    parser.add_argument("--seconds", type=float, default=180.0)
    ask_for_case(parser, image_size=224)
    arguments = parser.parse_args()
    looks = {"empty loop": core_pace, "copy": memory_pace}
    order = random.Random(0)
    with warm_worker_of_each(arguments) as workers:
        seen: dict[str, list[list[float]]] = {name: [] for name in workers}
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            for name in order.sample(list(workers), len(workers)):
                before = [float(look()) for look in looks.values()]
                worker, seconds = workers[name]
                rate = block(worker, max(1, round(BLOCK_SECONDS / seconds)))
                seen[name].append([*before, 1e3 / rate])
    for name, rows in seen.items():
        *columns, steps_took = [list(column) for column in zip(*rows, strict=True)]
        low, middle, high = (quantiles(steps_took, n=10)[which] for which in (0, 4, 8))
        print(f"{name}: {len(rows)} turns, a step {middle:.0f} ms, tenths {low:.0f} .. {high:.0f}")
        for look, taken in zip(looks, columns, strict=True):
            along = spearmanr(taken, steps_took).statistic
            print(
                f"  {look:10}  slowest tenth {unevenness(taken):.2f} times the fastest, rank "
                f"correlation with the step {along:+.2f}"
            )


if __name__ == "__main__":
    main()
