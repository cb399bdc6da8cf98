"""What it costs to keep results, and how long it takes to place a block's data.

Usage: python benchmarks/fresh.py [--frameworks torch] [--mode train,inference] [--pairs 200]

One warm worker makes pairs of blocks in random order, with equal numbers of steps. One block uses
batches renewed beforehand and keeps all results; the other cycles through the same few batches and
keeps only the last result. The figure is the mean of the pairs' log ratios, with its error: the
cost of keeping results and of cold batches, which should be within 0.5 %. The time to place the
data is not part of a throughput; it is printed beside the time of its block.
"""

from __future__ import annotations

import time
from statistics import median

from workers import Paired, paired

from mbench.contract import wire
from mbench.measure.fresh_data import MOST_BYTES, MOST_SLOTS

HELD = 8
"""Number of batches to cycle through without fresh data."""


def main() -> None:
    for one in paired("what fresh data and kept results cost"):
        print(f"{one.name}: {cost(one)}")


def cost(one: Paired) -> str:
    one.worker.resume()
    kept = one.worker.ask(wire.Keep(), wire.Kept)
    one.worker.stop()
    fitting = max(HELD, MOST_BYTES // kept.batch_bytes)
    slots = min(MOST_SLOTS, fitting, max(HELD, one.steps + one.lead))
    placing: list[float] = []

    def renew(fresh: bool) -> None:
        request = wire.Renew(
            first=0, count=slots if fresh else 1, slots=slots if fresh else HELD, chunk=slots,
            seeds=[one.order.randrange(1, 2**22)],
        )  # fmt: skip
        begin = time.perf_counter()
        one.worker.ask(request, wire.Renewed)
        if fresh:
            placing.append(time.perf_counter() - begin)

    found = one.compare(renew)
    return (
        f"{found}, {slots} batches are placed in {1e3 * median(placing):.0f} ms, for a block of "
        f"{1e3 * one.block_seconds:.0f} ms; results of {kept.results} steps are kept"
    )


if __name__ == "__main__":
    main()
