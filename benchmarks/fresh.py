"""What it costs to keep results, and how long it takes to place a block's data.

Usage: python benchmarks/fresh.py [--frameworks torch] [--mode train,inference] [--pairs 200]

One warm worker makes pairs of blocks, in random order: one on batches that were renewed before it,
of as many steps, with results kept; one on the same few batches in turn, where only the last result
is kept. The figure is the mean of the pairs' log ratios, with its error: what keeping results and
cold batches cost, which should be within 0.5 %. The time to place the data is no part of a
throughput; it is told beside the time of the block that it is for.
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
from mbench.measure.fresh_data import MOST_BYTES, MOST_SLOTS
from mbench.stats import stdev

LEAD_SECONDS = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description="what fresh data and kept results cost")
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
            logs, placing = [], []
            with warm_workers(1, experiment, block_seconds=arguments.block) as ((worker,), steps):
                lead = round(LEAD_SECONDS / arguments.block * steps)
                worker.resume()
                kept = worker.ask(wire.Keep(), wire.Kept)
                worker.stop()
                fitting = max(8, MOST_BYTES // kept.batch_bytes)
                slots = min(MOST_SLOTS, fitting, max(8, steps + lead))
                for _ in range(arguments.pairs):
                    rates = {}
                    for fresh in order.sample((False, True), 2):
                        worker.resume()
                        request = wire.Renew(
                            first=0, count=slots if fresh else 1, slots=slots if fresh else 8,
                            chunk=slots, seeds=[order.randrange(1, 2**22)],
                        )  # fmt: skip
                        begin = time.perf_counter()
                        worker.ask(request, wire.Renewed)
                        if fresh:
                            placing.append(time.perf_counter() - begin)
                        worker.stop()
                        rates[fresh] = block(worker, steps, lead=lead)
                    logs.append(math.log(rates[True] / rates[False]))
            error = stdev(logs) / math.sqrt(len(logs))
            print(
                f"{name} {mode}: {100 * math.expm1(fmean(logs)):+.2f} +- {100 * error:.2f} %, "
                f"{slots} batches are placed in {1e3 * median(placing):.0f} ms, for a block of "
                f"{1e3 * arguments.block:.0f} ms; results of {kept.results} steps are kept"
            )


if __name__ == "__main__":
    main()
