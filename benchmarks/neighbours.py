"""What a short look between turns shows of neighbours: does it correlate with the next step?

Usage: python benchmarks/neighbours.py [--frameworks torch,tf] [--seconds 180]

Warm workers take turns of one step or a quarter of a second. Before each turn, while all of them
are stopped, the parent times an empty loop and a memory copy, as mbench does. If a neighbour on the
same host slows both a look and the step after it, their times correlate. Rank correlation is used,
because one stall among hundreds of turns must not decide. Comparisons use the ratio of two steps
of a round, so the last figure is its correlation with the difference of the two looks.
"""

from __future__ import annotations

import argparse
import random
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from mbench.machine.doctor.pace import unevenness
from scipy.stats import spearmanr
from workers import ask_for_case, turn, warm_worker_of_each

from mbench.machine.pace import core_pace, memory_pace
from mbench.measure.rounds import next_order

if TYPE_CHECKING:
    from collections.abc import Collection


def main() -> None:
    parser = argparse.ArgumentParser(description="what looks between turns tell of neighbours")
    parser.add_argument("--seconds", type=float, default=180.0)
    ask_for_case(parser, image_size=224)
    arguments = parser.parse_args()
    looks = {"empty loop": core_pace, "copy": memory_pace}
    order = random.Random(0)
    with warm_worker_of_each(arguments) as workers:
        seen: dict[str, list[list[float]]] = {name: [] for name in workers}
        last, end = None, time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            for name in next_order(list(workers), last=last, chance=order):
                last = name
                before = [float(look()) for look in looks.values()]
                seen[name].append([*before, 1e3 / turn(*workers[name])])
    for name, rows in seen.items():
        tell(name, rows, looks)
    baseline, *others = seen
    for name in others:
        rounds = zip(seen[name], seen[baseline], strict=True)
        ratios = [[new / base for new, base in zip(*pair, strict=True)] for pair in rounds]
        tell(f"{name} by {baseline}", ratios, looks)


def tell(what: str, rows: list[list[float]], looks: Collection[str]) -> None:
    """Rows are a turn's looks and the step after them, or the ratios of two such turns."""
    *columns, steps = [list(column) for column in zip(*rows, strict=True)]
    low, middle, high = (quantiles(steps, n=10)[which] for which in (0, 4, 8))
    print(f"{what}: {len(rows)} turns, steps {middle:.3g}, tenths {low:.3g} .. {high:.3g}")
    for look, taken in zip(looks, columns, strict=True):
        print(
            f"  {look:10}  slowest tenth {unevenness(taken):.2f} times the fastest, rank "
            f"correlation with the steps {spearmanr(taken, steps).statistic:+.2f}"
        )


if __name__ == "__main__":
    main()
