"""In the framework's interpreter: times all loops that decode, and prints the seconds of each.

Usage: python -m bare.decode FOLDER RUNTIME COMPILER MODEL BATCH THREADS ROUNDS STEPS SEED
"""

from __future__ import annotations

import gc
import importlib
import json
import random
import sys
import time
from functools import partial

from mbench.contract.case import Case
from mbench.scenarios.find import prepared, work_of
from mbench.worker import evidence
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench.workloads.find import find_workload

WARMUP_STEPS = 4
LEAD = 1
"""Untimed steps of each block: the other loop has left caches cold."""
MODELS = "mbench.workloads.llama:MODELS"


def main(folder: str, runtime: str, compiler: str, model: str, *numbers: str) -> None:
    batch_size, threads, rounds, count, seed = map(int, numbers)
    assert find_workload(MODELS, model)
    case = Case(
        model=model, workload=MODELS, mode="decode", batch_size=batch_size, precision="fp32",
        compiler=compiler, device="cpu", threads=threads,
    )  # fmt: skip
    module, _, name = runtime.partition(":")
    adapter = getattr(importlib.import_module(module), name)(device="cpu", threads=threads)
    steps = prepared(adapter, work_of(case))
    evidence.load(steps, partial(steps.work.workload.parameters, seed=0))  # as a worker does
    by_hand = importlib.import_module(f"bare.{folder}_decode")
    loops, facts = by_hand.loops(steps)
    cycler = BatchCycler(steps)

    def of_mbench(count: int) -> float:
        elapsed = time_steps(cycler.step, cycler.synchronize, count=count, lead=LEAD)
        return elapsed.nanoseconds[0] / 1e9

    def of_hand(run, count: int) -> float:
        gc.collect()  # as mbench's loop does
        gc.freeze()
        run(LEAD)
        begin = time.perf_counter()
        run(count)
        return time.perf_counter() - begin

    timed = {name: partial(of_hand, run) for name, run in loops.items()}
    timed["mbench"] = of_mbench
    for loop in timed.values():
        loop(WARMUP_STEPS)
    total = dict.fromkeys(timed, 0.0)
    order, names = random.Random(seed), list(timed)
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            total[name] += timed[name](count)
    if "first" in total:  # leaves out what comes before the second token
        total["generate"] -= total.pop("first")
    seconds = {name: spent / (rounds * count) for name, spent in total.items()}
    tokens = steps.work.workload.config.new_tokens
    print(json.dumps({"seconds": seconds, "tokens": tokens, **facts}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
