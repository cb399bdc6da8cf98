"""What a short look between turns tells of neighbours: does it go along with the steps beside it?

Usage: python benchmarks/neighbours.py [--frameworks torch,tf] [--seconds 180]

Warm workers take turns of one step or a quarter of a second. Before each turn, while all of them
are stopped, the parent times an empty loop, copies within the core's own caches, and copies through
memory. Where a neighbour on the same host slows both a look and the step after it, their times
correlate; by ranks, since one stall among hundreds of turns must not decide.
"""

from __future__ import annotations

import argparse
import random
import time
from contextlib import ExitStack
from statistics import quantiles
from typing import TYPE_CHECKING

from scipy.stats import spearmanr
from workers import block, warm_workers

from mbench.plan.plan import Sweep
from mbench.telemetry.pace import pace
from mbench.telemetry.system import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK_SECONDS = 0.25


def copying(size: int) -> Callable[[], int]:
    """A look: nanoseconds of the fastest of three copies of so many bytes."""
    source, target = bytearray(size), bytearray(size)

    def look() -> int:
        taken = []
        for _ in range(3):
            begin = time.perf_counter_ns()
            target[:] = source
            taken.append(time.perf_counter_ns() - begin)
        return min(taken)

    look()  # page faults
    return look


def main() -> None:
    parser = argparse.ArgumentParser(description="what looks between turns tell of neighbours")
    parser.add_argument("--frameworks", default="torch,tf")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=usable_cores())
    arguments = parser.parse_args()
    looks = {"loop": pace, "copy of 0.5 MiB": copying(2**19), "copy of 64 MiB": copying(2**26)}
    names, order = arguments.frameworks.split(","), random.Random(0)
    seen: dict[str, list[list[float]]] = {name: [] for name in names}
    with ExitStack() as stack:
        workers = {}
        for name in names:
            sweep = Sweep(
                frameworks=(name,), threads=arguments.threads,
                wanted={"model": (arguments.model,), "batch_size": (arguments.batch_size,)},
                sizes={"image_size": arguments.image_size},
            )  # fmt: skip
            made = warm_workers(1, sweep=sweep, block_seconds=BLOCK_SECONDS)
            (worker,), steps = stack.enter_context(made)
            workers[name] = worker, steps
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            for name in order.sample(names, len(names)):
                before = [float(look()) for look in looks.values()]
                worker, steps = workers[name]
                seen[name].append([*before, 1e3 / block(worker, steps)])
    for name, rows in seen.items():
        *columns, steps_took = [list(column) for column in zip(*rows, strict=True)]
        low, middle, high = (quantiles(steps_took, n=10)[which] for which in (0, 4, 8))
        print(f"{name}: {len(rows)} turns, a step {middle:.0f} ms, tenths {low:.0f} .. {high:.0f}")
        for look, taken in zip(looks, columns, strict=True):
            tenths, found = quantiles(taken, n=10), spearmanr(taken, steps_took)
            print(
                f"  {look:16}  slowest tenth {tenths[-1] / tenths[0]:.2f} times the fastest, rank "
                f"correlation with the step {found.statistic:+.2f} (p = {found.pvalue:.2g})"
            )


if __name__ == "__main__":
    main()
