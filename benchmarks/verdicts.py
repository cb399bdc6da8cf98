"""How often identical workers are told apart, and how often a planted slow-down is found.

Usage: python benchmarks/verdicts.py [--framework torch] [--sets 100] [--planted 3]

Every set starts two fresh and identical workers of one case, and measures them in turn, in shuffled
order, round by round: that is A/A. The second has one more turn in each round, in which it runs
some per cent more steps than are counted, so it is truly slower by that much: that is A/B. The
pairs are then assigned, in the order they were measured, to comparisons of 5, 10 and 20 pairs,
whose verdicts are those that mbench would have given. The number of false verdicts is printed with
the 95 % upper bound of their rate (Clopper and Pearson). How often the slow-down is found is also
printed for comparisons whose pairs are drawn at random, since there can be many more of them.
"""

from __future__ import annotations

import argparse
import random
from statistics import median
from typing import TYPE_CHECKING

from offset import Rates, offset
from scipy.special import betaincinv
from workers import asked, block, warm_workers

from mbench.machine.cores import default_threads
from mbench.spec.adaptive import Adaptive
from mbench.stats import geometric_interval, pair_of, verdict

if TYPE_CHECKING:
    from mbench.engine.local import Worker

SIZES = (5, 10, 20)  # pairs in a comparison
DRAWS = 1000


def one_set(
    workers: list[Worker], steps: int, *, lead: int, extra: int, rounds: int, order: random.Random
) -> list[Rates]:
    """The rates by round of one worker, its twin, and the twin with `extra` steps on top."""
    rates: list[Rates] = [{}, {}, {}]
    for at in range(rounds):
        for which in order.sample(range(3), 3):
            taken = steps + (extra if which == 2 else 0)
            rate = block(workers[min(which, 1)], taken, lead=lead)
            rates[which][at] = rate * steps / taken
    return rates


def said_of(pairs: list[float]) -> str:
    return verdict(geometric_interval(pairs))


def highest_rate(hits: int, trials: int) -> float:
    """The rate at which so few hits still occur 5 times in 100."""
    return 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 0.95))


def main() -> None:
    parser = argparse.ArgumentParser(description="false and true verdicts on real workers")
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--model", default="squeezenet1_1")
    parser.add_argument("--mode", default="inference")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--planted", type=float, default=3.0, help="per cent")
    parser.add_argument("--block", type=float, default=Adaptive().block_seconds, help="seconds")
    parser.add_argument("--lead", type=float, default=Adaptive().lead_seconds, help="seconds")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    experiment = asked(
        frameworks=(arguments.framework,),
        wanted={
            "model": (arguments.model,),
            "mode": (arguments.mode,),
            "batch_size": (arguments.batch_size,),
        },
        sizes={"image_size": arguments.image_size},
        threads=arguments.threads,
    )  # fmt: skip
    order = random.Random(0)
    twins, same, slower = [], [], []
    for number in range(arguments.sets):
        with warm_workers(2, experiment, block_seconds=arguments.block) as (
            workers,
            fitting,
        ):
            # A whole number of steps must be the planted share of a block.
            extra = max(1, round(fitting * arguments.planted / 100))
            steps = round(extra * 100 / arguments.planted)
            rates = one_set(
                order.sample(workers, 2), steps, extra=extra, rounds=arguments.rounds, order=order,
                lead=round(fitting * arguments.lead / arguments.block),
            )  # fmt: skip
        twins.append((rates[0], rates[1]))
        same.append(pair_of(rates[0], rates[1]).total)
        slower.append(pair_of(rates[0], rates[2]).total)
        said = f"A/A {same[-1]:.4f}, planted {slower[-1]:.4f}, {steps} steps a block"
        print(f"set {number + 1}: {said}", flush=True)
    process, pair = offset(twins)
    print(f"offset of a process {100 * process:.2f} %, pair with noise {100 * pair:.2f} %")
    for size in SIZES:
        deals = [slice(at, at + size) for at in range(0, arguments.sets - size + 1, size)]
        if not deals:
            continue
        width = median(geometric_interval(same[deal]).half_width or 0.0 for deal in deals)
        wrong = sum(said_of(same[deal]) in ("faster", "slower") for deal in deals)
        found = sum(said_of(slower[deal]) == "slower" for deal in deals)
        drawn = [said_of(order.sample(slower, size)) for _ in range(DRAWS)].count("slower")
        print(
            f"{size:>3} pairs: half-width {100 * width:.1f} %, {wrong} of {len(deals)} verdicts "
            f"false (a rate of up to {100 * highest_rate(wrong, len(deals)):.0f} %), planted "
            f"slow-down found in {found}, and in {100 * drawn / DRAWS:.0f} % of {DRAWS:,} draws"
        )


if __name__ == "__main__":
    main()
