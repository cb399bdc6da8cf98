"""In the framework's interpreter: times both loops, prints [bare, mbench] seconds of each round.

Usage: python -m bare.child FOLDER RUNTIME DEVICE PRECISION
                            BATCH IMAGE THREADS BUILDS ROUNDS STEPS SEED

Both are rebuilt BUILDS times, and ROUNDS rounds of each build are timed. Which loop is built first
alternates. SEED decides the order of blocks and the layout of memory.
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

WARMUP_STEPS = 6
LEAD = 1
"""Untimed steps of each block: the other loop has left caches cold."""


def main(folder: str, runtime: str, device: str, precision: str, *numbers: str) -> None:
    batch_size, image_size, threads, builds, rounds, steps, seed = map(int, numbers)
    by_hand = importlib.import_module(f"bare.{folder}")
    case = Case(
        model="resnet50",
        workload="mbench.workloads.resnet:RESNET50",
        mode="train",
        batch_size=batch_size,
        precision=precision,
        tier="tuned",  # the layouts and kernels of the loops by hand
        compiler=by_hand.COMPILER,  # the one that does the same
        device=device,
        threads=threads,
        sizes={"image_size": image_size},
    )
    module, _, name = runtime.partition(":")
    adapter = getattr(importlib.import_module(module), name)(device=device, threads=threads)

    def loop_of_mbench():
        steps = prepared(adapter, work_of(case))
        evidence.load(steps, partial(steps.work.workload.parameters, seed=0))  # as a worker does
        rotation = BatchCycler(steps)

        def seconds(count: int) -> float:
            elapsed = time_steps(rotation.step, rotation.synchronize, count=count, lead=LEAD)
            return elapsed.nanoseconds[0] / 1e9

        return seconds

    def loop_by_hand():
        # Loops for the CPU and float32 only do not take these arguments.
        other = {"device": device, "precision": precision} if device != "cpu" else {}
        train = by_hand.build(
            batch_size=batch_size, image_size=image_size, threads=threads, **other
        )

        def seconds(count: int) -> float:
            gc.collect()  # as mbench's loop does: the framework's threads fall asleep meanwhile
            gc.freeze()
            train(LEAD)
            begin = time.perf_counter()
            train(count)
            return time.perf_counter() - begin

        return seconds

    order = random.Random(seed)
    measured = []
    for build in range(builds):
        # Otherwise each build would lie in the very memory that the previous one has freed.
        ballast = [bytearray(int(2 ** order.uniform(6, 24))) for _ in range(order.randrange(64))]
        makers = [loop_by_hand, loop_of_mbench]
        if build % 2:
            makers.reverse()
        loops = {maker: maker() for maker in makers}
        for maker in makers:
            loops[maker](WARMUP_STEPS)
        blocks = []
        for _ in range(rounds):
            order.shuffle(makers)
            seconds = {maker: loops[maker](steps) for maker in makers}
            blocks.append([seconds[loop_by_hand], seconds[loop_of_mbench]])
        measured.append(blocks)
        del loops, ballast
        gc.unfreeze()
        gc.collect()
    print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
