"""How often identical workers are told apart, and how often a planted slow-down is found.

Usage: python benchmarks/verdicts.py [--framework torch] [--sets 100] [--planted 3]

Every set starts three fresh workers of one case and measures them in turn, in shuffled order, round
by round. Two are identical (A/A). The third takes some per cent more steps in each block than are
counted, so it is slower by so much in truth (A/B). The pairs are then dealt out, in the order in
which they were measured, to comparisons of 5, 10 and 20 pairs, whose verdicts are those that
mbench would have given. At a nominal 5 %, false verdicts should be no more than the 95 % limit of
the binomial distribution.
"""

from __future__ import annotations

import argparse
import random
from statistics import median
from typing import TYPE_CHECKING

from offset import Rates, offset
from scipy.stats import binom
from workers import block, warm_workers

from mbench.harness.plan import Axes
from mbench.harness.system import usable_cores
from mbench.stats import geometric_interval, pair_ratios, verdict

if TYPE_CHECKING:
    from mbench.engine.local import Worker

NOMINAL = 0.05
SIZES = (5, 10, 20)  # pairs in a comparison


def one_set(
    workers: list[Worker], steps: int, *, extra: int, rounds: int, order: random.Random
) -> list[Rates]:
    """Of every worker the rates by round; the third does `extra` steps that do not count."""
    rates: list[Rates] = [{}, {}, {}]
    for at in range(rounds):
        for number in order.sample(range(3), 3):
            more = extra if number == 2 else 0
            rates[number][at] = block(workers[number], steps + more) * steps / (steps + more)
    return rates


def verdicts(ratios: list[float], size: int) -> tuple[list[str], float]:
    """Of as many comparisons of `size` pairs as there are, and their median half-width."""
    dealt = [ratios[at : at + size] for at in range(0, len(ratios) - size + 1, size)]
    intervals = [geometric_interval(pairs) for pairs in dealt]
    return [verdict(i) for i in intervals], median(i.half_width or 0.0 for i in intervals)


def main() -> None:
    parser = argparse.ArgumentParser(description="false and true verdicts on real workers")
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--model", default="squeezenet1_1")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--planted", type=float, default=3.0, help="per cent")
    parser.add_argument("--block", type=float, default=0.5, help="seconds")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--threads", type=int, default=usable_cores())
    arguments = parser.parse_args()
    axes = Axes(
        frameworks=(arguments.framework,), models=(arguments.model,),
        batch_sizes=(arguments.batch_size,), image_size=arguments.image_size,
        threads=arguments.threads,
    )  # fmt: skip
    order = random.Random(0)
    twins, same, slower = [], [], []
    for number in range(arguments.sets):
        with warm_workers(3, axes=axes, block_seconds=arguments.block) as (workers, fitting):
            # A whole number of steps must be the planted share of a block.
            extra = max(1, round(fitting * arguments.planted / 100))
            steps = round(extra * 100 / arguments.planted)
            rates = one_set(workers, steps, extra=extra, rounds=arguments.rounds, order=order)
        twins.append((rates[0], rates[1]))
        same += pair_ratios({0: rates[0]}, {0: rates[1]})
        slower += pair_ratios({0: rates[0]}, {0: rates[2]})
        said = f"A/A {same[-1]:.4f}, planted {slower[-1]:.4f}, {steps} steps a block"
        print(f"set {number + 1}: {said}", flush=True)
    process, pair = offset(twins)
    print(f"offset of a process {100 * process:.2f} %, pair with noise {100 * pair:.2f} %")
    for size in SIZES:
        if len(same) < size:
            continue
        told, width = verdicts(same, size)
        found, _ = verdicts(slower, size)
        wrong = sum(one != "no difference shown" for one in told)
        limit = int(binom.ppf(0.95, len(told), NOMINAL))
        print(
            f"{size:>3} pairs: half-width {100 * width:.1f} %, {wrong} of {len(told)} verdicts "
            f"false ({limit} may be), planted slow-down found in {found.count('slower')}"
        )


if __name__ == "__main__":
    main()
