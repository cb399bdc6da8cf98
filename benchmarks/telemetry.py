"""What watching the machine costs: blocks that are watched against blocks that are not.

Usage: python benchmarks/telemetry.py [--framework torch] [--processes 5] [--rounds 10]

There is one worker at a time. Every round has a watched block and an unwatched one, in random
order; fresh processes are the replicates. A ratio of 0.995 or better means that watching costs half
a percent or less. Noise can hide such a small cost for hours, so the processor time of the looks
that fall within blocks is printed too: a worker that uses all cores loses no more than that.
"""

from __future__ import annotations

import argparse
import random
import time
from contextlib import nullcontext

from workers import asked, warm_workers

from mbench.machine.cores import default_threads
from mbench.machine.kernel import cores_of
from mbench.machine.sampler import Sampler, family
from mbench.spec.adaptive import Adaptive
from mbench.stats import ratio

LOOKS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description="what telemetry costs")
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=float, default=Adaptive().block_seconds, help="seconds")
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    experiment = asked(
        frameworks=(arguments.framework,), wanted={"batch_size": (2,)}, sizes={"image_size": 64},
        threads=arguments.threads,
    )  # fmt: skip
    order, sampler = random.Random(0), Sampler()
    rates: dict[bool, dict[int, dict[int, float]]] = {False: {}, True: {}}
    within, watched_seconds = 0, 0.0
    for process in range(arguments.processes):
        with warm_workers(1, experiment, block_seconds=arguments.block) as (
            (worker,),
            steps,
        ):
            worker.resume()
            for at in range(arguments.rounds):
                for watched in order.sample((False, True), 2):
                    with sampler.watching(worker.process.pid) if watched else nullcontext() as seen:
                        nanoseconds = worker.run(steps).nanoseconds[0]
                    if seen is not None:
                        within += len(seen.samples) - 2
                        watched_seconds += nanoseconds / 1e9
                    rates[watched].setdefault(process, {})[at] = steps * 1e9 / nanoseconds
            used, cores = time.process_time(), cores_of(worker.process.pid)
            members = family(worker.process.pid)
            for _ in range(LOOKS):
                sampler.sample(members, cores)
            cost = (time.process_time() - used) / LOOKS
        print(f"process {process + 1} measured", flush=True)
    total = ratio(rates[False], rates[True]).interval()
    ends = f"{total.low:.4f} .. {total.high:.4f}" if total.low else "few processes, no interval"
    share = within / watched_seconds
    print(
        f"a look takes {1e3 * cost:.2f} ms of a core; {share:.2f} of them fell into each second of "
        f"blocks: {100 * share * cost:.3f} % of a core"
    )
    print(f"{arguments.framework}: watched / not watched {total.value:.4f} ({ends})")


if __name__ == "__main__":
    main()
