"""In the framework's interpreter: times both loops and prints [[bare, mbench] seconds, ...].

Usage: python -m bare.child FOLDER RUNTIME THREADS ROUNDS STEPS SEED
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time

from mbench.contract.case import Case
from mbench.worker.clock import time_steps

BATCH_SIZE, IMAGE_SIZE = 2, 64
WARMUP_STEPS = 10


def main(folder: str, runtime: str, *numbers: str) -> None:
    threads, rounds, steps, seed = map(int, numbers)
    by_hand = importlib.import_module(f"bare.{folder}")
    case = Case(
        model="resnet50",
        workload="mbench.workloads.resnet:RESNET50",
        mode="train",
        batch_size=BATCH_SIZE,
        precision="fp32",
        compiler=by_hand.COMPILER,  # the one that does the same
        device="cpu",
        threads=threads,
        image_size=IMAGE_SIZE,
    )
    module, _, name = runtime.partition(":")
    adapter = getattr(importlib.import_module(module), name)(device="cpu", threads=threads)

    def prepare_ours():
        benchmark = adapter.prepare(case, case.resolve())
        benchmark.load_parameters(case.resolve().parameters(seed=0))
        return benchmark

    # Which of them is built first is chance too: memory is laid out in that order.
    order = random.Random(seed)
    if order.random() < 0.5:
        bare = by_hand.build(batch_size=BATCH_SIZE, image_size=IMAGE_SIZE, threads=threads)
        benchmark = prepare_ours()
    else:
        benchmark = prepare_ours()
        bare = by_hand.build(batch_size=BATCH_SIZE, image_size=IMAGE_SIZE, threads=threads)

    def time_bare(count: int) -> float:
        bare(1)  # untimed: the other loop has left caches cold
        begin = time.perf_counter()
        bare(count)
        return time.perf_counter() - begin

    def time_ours(count: int) -> float:
        benchmark.step()
        elapsed = time_steps(benchmark.step, benchmark.synchronize, count=count)
        return elapsed.nanoseconds[0] / 1e9

    for loop in (time_bare, time_ours):
        loop(WARMUP_STEPS)
    pairs = []
    for _ in range(rounds):
        loops = [time_bare, time_ours]
        order.shuffle(loops)
        seconds = {loop: loop(steps) for loop in loops}
        pairs.append([seconds[time_bare], seconds[time_ours]])
    print(json.dumps(pairs), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
