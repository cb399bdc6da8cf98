"""What evidence costs: blocks after which a worker is asked what it left, among blocks without.

Usage: python benchmarks/evidence.py [--frameworks torch] [--mode train,inference] [--pairs 200]

One warm worker makes pairs of turns, one of which follows a look at what the step before has left,
in random order. A look is outside the clock; what it may cost are caches, which the lead of a turn
warms again. The figure is the mean of the pairs' log ratios, with its error. It should be within
0.5 %. The seconds of looks themselves are told too: they are no part of a throughput.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from statistics import fmean, median

from workers import asked, block, warm_workers

from mbench.contract import wire
from mbench.machine.cores import default_threads
from mbench.stats import stdev

LEAD_SECONDS = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description="what evidence costs")
    parser.add_argument("--frameworks", default="torch")
    parser.add_argument("--mode", default="train,inference")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--block", type=float, default=0.25, help="seconds")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    order = random.Random(0)
    for name in arguments.frameworks.split(","):
        for mode in arguments.mode.split(","):
            experiment = asked(
                frameworks=(name,), threads=arguments.threads,
                wanted={"model": (arguments.model,), "mode": (mode,),
                        "batch_size": (arguments.batch_size,)},
                sizes={"image_size": arguments.image_size},
            )  # fmt: skip
            logs, looks = [], []
            with warm_workers(1, experiment, block_seconds=arguments.block) as (
                (worker,),
                steps,
            ):
                lead = round(LEAD_SECONDS / arguments.block * steps)
                for _ in range(arguments.pairs):
                    rates = {}
                    for looked in order.sample((False, True), 2):
                        if looked:
                            worker.resume()
                            begin = time.perf_counter()
                            worker.ask(wire.Look(), wire.Seen)
                            looks.append(time.perf_counter() - begin)
                            worker.stop()
                        rates[looked] = block(worker, steps, lead=lead)
                    logs.append(math.log(rates[True] / rates[False]))
            error = stdev(logs) / math.sqrt(len(logs))
            print(
                f"{name} {mode}: {100 * math.expm1(fmean(logs)):+.2f} +- {100 * error:.2f} %, "
                f"a look takes {1e3 * median(looks):.2f} ms beside {steps} steps"
            )


if __name__ == "__main__":
    main()
