"""What evidence costs: blocks after a look at what a worker's last step left, among blocks without.

Usage: python benchmarks/evidence.py [--frameworks torch] [--mode train,inference] [--pairs 200]

One warm worker makes pairs of turns in random order. One turn of each pair follows a look at what
the previous step left. A look is not timed; all it can cost is cold caches, which the lead of a
turn warms again. The figure is the mean of the pairs' log ratios, with its error. It should be
within 0.5 %. The duration of the looks is printed too; it is not part of a throughput.
"""

from __future__ import annotations

import time
from statistics import median

from workers import Paired, paired

from mbench.contract import wire


def main() -> None:
    for one in paired("what evidence costs"):
        print(f"{one.name}: {cost(one)}")


def cost(one: Paired) -> str:
    looks: list[float] = []

    def look(looked: bool) -> None:
        if looked:
            begin = time.perf_counter()
            one.worker.ask(wire.Look(), wire.Seen)
            looks.append(time.perf_counter() - begin)

    found = one.compare(look)
    return f"{found}, a look takes {1e3 * median(looks):.2f} ms beside {one.steps} steps"


if __name__ == "__main__":
    main()
