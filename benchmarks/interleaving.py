"""What interleaving is worth: two identical workers, and a load that comes half-way.

Usage: python benchmarks/interleaving.py [--framework torch] [--trials 3] [--rounds 10]

In each trial, the same two workers are measured in both ways, with equal numbers of blocks.
Sequentially: all blocks of the first worker, then all of the second. Interleaved, as mbench does: a
block of each in shuffled order, round by round. Half-way, other processes begin to use the
processor, and continue to the end. The workers are identical, so the true ratio is 1 and any
deviation is error.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workers import asked, block, warm_workers

from mbench.machine.cores import default_threads
from mbench.stats import pair_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.engine.local import Worker

Rates = dict[int, float]


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Other processes that do nothing but use the processor."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def sequential(workers: list[Worker], steps: int, *, rounds: int, loaded: int) -> list[Rates]:
    """All of the first worker, then, under load, all of the second."""
    first = {at: block(workers[0], steps) for at in range(rounds)}
    with load(loaded):
        return [first, {at: block(workers[1], steps) for at in range(rounds)}]


def interleaved(
    workers: list[Worker], steps: int, *, rounds: int, loaded: int, order: random.Random
) -> list[Rates]:
    """A block of each in shuffled order; the second half of the rounds under load."""
    rates: list[Rates] = [{}, {}]

    def measure(some: range) -> None:
        for at in some:
            for number in order.sample(range(2), 2):
                rates[number][at] = block(workers[number], steps)

    measure(range(rounds // 2))
    with load(loaded):
        measure(range(rounds // 2, rounds))
    return rates


def error(rates: list[Rates]) -> float:
    """How far the ratio that mbench computes from such rounds is from 1."""
    return pair_of(rates[0], rates[1]).total - 1


def main() -> None:
    parser = argparse.ArgumentParser(description="the error of interleaved and sequential ratios")
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=float, default=0.5, help="seconds")
    parser.add_argument("--load", type=int, default=max(1, (os.cpu_count() or 1) // 2))
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    experiment = asked(
        frameworks=(arguments.framework,), wanted={"batch_size": (2,)}, sizes={"image_size": 64},
        threads=arguments.threads,
    )  # fmt: skip
    order = random.Random(0)
    errors: dict[str, list[float]] = {"sequential": [], "interleaved": []}
    for trial in range(arguments.trials):
        with warm_workers(2, experiment, block_seconds=arguments.block) as (
            workers,
            steps,
        ):
            sizes = {"rounds": arguments.rounds, "loaded": arguments.load}
            errors["sequential"].append(error(sequential(workers, steps, **sizes)))
            errors["interleaved"].append(error(interleaved(workers, steps, **sizes, order=order)))
        said = ", ".join(f"{way} {100 * found[-1]:+.1f} %" for way, found in errors.items())
        print(f"trial {trial + 1}: error of the ratio {said}", flush=True)
    for way, found in errors.items():
        worst = max(map(abs, found))
        mean = sum(map(abs, found)) / len(found)
        print(f"{way:<11}  mean error {100 * mean:5.1f} %  worst {100 * worst:5.1f} %")


if __name__ == "__main__":
    main()
