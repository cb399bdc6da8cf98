"""What looking for pauses costs: blocks while mbench ticks against blocks while it does not.

Usage: python benchmarks/attendance.py [--framework tiny] [--model tiny-model] [--processes 5]

There is one worker at a time. Every round has a block with ticks and one without, in random order;
fresh processes are the replicates. Noise can hide such a small cost for hours, so the processor
time of the ticks is printed as well: a worker that uses all cores loses no more than that.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from types import SimpleNamespace

from workers import asked, warm_workers

from mbench.machine import absence
from mbench.machine.absence import ATTENDANCE, Attendance
from mbench.machine.cores import default_threads
from mbench.spec.adaptive import Adaptive
from mbench.stats import ratio

TICKS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description="what looking for pauses costs")
    parser.add_argument("--framework", default="tiny")
    parser.add_argument("--model", default="tiny-model")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=float, default=Adaptive().block_seconds, help="seconds")
    parser.add_argument("--threads", type=int, default=default_threads().count)
    given = parser.parse_args()
    experiment = asked(
        frameworks=(given.framework,), wanted={"model": (given.model,), "batch_size": (8,)},
        threads=given.threads,
    )  # fmt: skip
    ticking, order = threading.Event(), random.Random(0)
    ticking.set()

    def sleep(seconds: float) -> None:
        time.sleep(seconds)
        ticking.wait()

    absence.time = SimpleNamespace(  # type: ignore[assignment]
        **{name: getattr(time, name) for name in dir(time)} | {"sleep": sleep}
    )
    rates: dict[bool, dict[int, dict[int, float]]] = {False: {}, True: {}}
    for process in range(given.processes):
        with warm_workers(1, experiment, block_seconds=given.block) as ((worker,), steps):
            worker.resume()
            for at in range(given.rounds):
                for ticks in order.sample((False, True), 2):
                    (ticking.set if ticks else ticking.clear)()
                    time.sleep(2 * absence.TICK_SECONDS)  # until it takes effect
                    nanoseconds = worker.run(steps).nanoseconds[0]
                    rates[ticks].setdefault(process, {})[at] = steps * 1e9 / nanoseconds
            ticking.set()
            cost = seconds_of_a_tick(worker.process.pid)
        print(f"process {process + 1} measured", flush=True)
    total = ratio(rates[False], rates[True]).interval()
    ends = f"{total.low:.4f} .. {total.high:.4f}" if total.low else "few processes, no interval"
    share = 100 * cost / absence.TICK_SECONDS
    print(f"a tick takes {1e6 * cost:.0f} us of a core: {share:.3f} % of it")
    print(f"{given.framework}: with ticks / without {total.value:.4f} ({ends})")


def seconds_of_a_tick(pid: int) -> float:
    """Processor time, including a look at one worker."""
    one, read = Attendance(), absence.reader()
    one._looks.update(ATTENDANCE._looks)
    one._looks.setdefault(pid, absence.Look(pid))
    used, last = time.thread_time(), read()
    for _ in range(TICKS):
        now = read()
        one.reckon(last, now)
        one._look()
        last = now
    return (time.thread_time() - used) / TICKS


if __name__ == "__main__":
    main()
