"""In the framework's interpreter: times both pipelines, prints [bare, mbench] seconds by round.

Usage: python -m bare.files FOLDER RUNTIME PHOTOS BATCH IMAGE THREADS ROUNDS BATCHES KIND SEED

KIND is "files"; or "resident" for steps on resident batches: of a case without a pipeline, in place
of the bare loop, and of a case with one.
"""

from __future__ import annotations

import gc
import importlib
import json
import random
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.contract.image_folder import scan
from mbench.scenarios.find import prepared, work_of
from mbench.worker import evidence
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench.worker.feeds import fed_cycler

if TYPE_CHECKING:
    from collections.abc import Callable


def main(folder: str, runtime: str, photos: str, *numbers: str) -> None:
    *counts, kind, seed = numbers
    batch_size, image_size, threads, rounds, batches = map(int, counts)
    case = Case(
        model="resnet18",
        workload="mbench.workloads.resnet:MODELS",
        mode="inference",
        batch_size=batch_size,
        precision="fp32",
        compiler=importlib.import_module(f"bare.{folder}").COMPILER,
        device="cpu",
        threads=threads,
        sizes={"image_size": image_size},
        data=photos,
    )
    module, _, name = runtime.partition(":")
    adapter = getattr(importlib.import_module(module), name)(device="cpu", threads=threads)
    steps = prepared(adapter, work_of(case))
    evidence.load(steps, partial(steps.work.workload.parameters, seed=0))  # as a worker does
    cycler = fed_cycler(steps)  # which leaves this process, with all loaders, `threads` cores
    order = random.Random(int(seed))
    if kind == "resident":
        plain = BatchCycler(steps)
        measured = taking_turns(
            [partial(resident, plain, batches), partial(resident, cycler, batches)], rounds, order
        )
        cycler.close()
        print(json.dumps(measured), flush=True)
        return
    open_by_hand = importlib.import_module(f"bare.{folder}_files").open_files
    begin_by_hand = open_by_hand(
        scan(photos), batch_size=batch_size, image_size=image_size, loaders=threads
    )
    count = len(cycler.source.files)
    lead, behind = cycler.depth + 1, cycler.depth

    def drawn() -> list[int]:
        return [order.randrange(count) for _ in range((lead + batches + behind) * batch_size)]

    def of_mbench(ids: list[int]) -> float:
        nothing = [0] * len(ids)  # central crops, none mirrored
        cycler.begin(wire.Feed(ids=ids, boxes=4 * nothing, flips=nothing, alone=True))
        elapsed = time_steps(cycler.step, cycler.synchronize, count=batches, lead=lead)
        cycler.drain()
        return elapsed.nanoseconds[0] / 1e9

    def by_hand(ids: list[int]) -> float:
        made = begin_by_hand(ids)
        gc.collect()  # as mbench's loop does
        gc.freeze()
        for _ in range(lead):
            next(made)
        begin = time.perf_counter()
        for _ in range(batches):
            next(made)
        seconds = time.perf_counter() - begin
        for _ in range(behind):
            next(made)
        return seconds

    measured = taking_turns([by_hand, of_mbench], rounds, order, drawn)
    cycler.close()
    print(json.dumps(measured), flush=True)


def resident(cycler: BatchCycler, steps: int) -> float:
    """Seconds of `steps` steps on batches that stay on the device."""
    return time_steps(cycler.step, cycler.synchronize, count=steps, lead=1).nanoseconds[0] / 1e9


def taking_turns(
    kinds: list[Callable[..., float]], rounds: int, order: random.Random,
    drawn: Callable[[], list[int]] | None = None,
) -> list[list[float]]:  # fmt: skip
    """Seconds of each kind by round, in random order; all get what is drawn for the round."""
    measured = []
    for number in range(rounds + 1):  # the first reads files into memory, and is left out
        given = [drawn()] if drawn else []
        seconds = {kind: kind(*given) for kind in order.sample(kinds, len(kinds))}
        if number:
            measured.append([seconds[kind] for kind in kinds])
    return measured


if __name__ == "__main__":
    main(*sys.argv[1:])
