"""What makes identical processes differ, and what each remedy is worth.

Usage: python benchmarks/offset.py [--framework torch] [--sets 12] [--settings default,huge-pages]

Every set starts a fresh pair of workers under each setting, and measures all of them in turn, in
shuffled order, round by round. Within a setting the two are identical. The scatter of their ratio
over the sets, as far as even and odd rounds agree, is therefore the offset between processes; it is
printed per process. Between settings, the ratio shows what a setting does to speed. Page faults per
step show how much memory a framework returns to the kernel and takes again.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import random
from contextlib import ExitStack, contextmanager
from statistics import fmean
from typing import TYPE_CHECKING

from workers import asked, block, warm_workers

from mbench.machine.cores import default_threads
from mbench.machine.kernel import page_faults
from mbench.stats import pair_of, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.spec.experiment import Experiment

Rates = dict[int, float]

TUNABLES = {
    "default": "",
    "huge-pages": "glibc.malloc.hugetlb=1",
    # Freed blocks stay with the process. By default, large ones go back to the kernel at each step
    # and return as other pages.
    "kept-memory": "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=68719476736",
}
TUNABLES["huge-kept"] = f"{TUNABLES['huge-pages']}:{TUNABLES['kept-memory']}"
BOUND = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
SETTINGS = {
    **{name: {"GLIBC_TUNABLES": text} if text else {} for name, text in TUNABLES.items()},
    "pinned": BOUND,
    "fixed-addresses": {},
    "fixed-pinned": BOUND,
    # Everything that can be made alike at once.
    "alike": {"GLIBC_TUNABLES": TUNABLES["huge-kept"], **BOUND},
}
FIXED_ADDRESSES = {"fixed-addresses", "fixed-pinned", "alike"}
NO_RANDOM_ADDRESSES = 0x0040000  # personality(2): ADDR_NO_RANDOMIZE


@contextmanager
def setting(name: str) -> Iterator[None]:
    """Environment and personality that children start with."""
    before = dict(os.environ)
    libc = ctypes.CDLL(None)
    persona = libc.personality(0xFFFFFFFF)
    os.environ.update(SETTINGS[name])
    if name in FIXED_ADDRESSES:
        libc.personality(persona | NO_RANDOM_ADDRESSES)
    try:
        yield
    finally:
        libc.personality(persona)
        os.environ.clear()
        os.environ.update(before)


def one_set(
    names: list[str], experiment: Experiment, *, rounds: int, seconds: float, order: random.Random
) -> tuple[dict[str, tuple[Rates, Rates]], dict[str, float]]:
    """The rates of a fresh pair of workers under each setting, by round; page faults per step."""
    with ExitStack() as stack:
        pairs = {}
        for name in order.sample(names, len(names)):
            with setting(name):
                pairs[name] = stack.enter_context(
                    warm_workers(2, experiment, block_seconds=seconds)
                )
        rates: dict[str, tuple[Rates, Rates]] = {name: ({}, {}) for name in names}
        faults = dict.fromkeys(names, 0.0)
        everyone = [(name, number) for name in names for number in (0, 1)]
        for at in range(rounds):
            for name, number in order.sample(everyone, len(everyone)):
                workers, steps = pairs[name]
                pid = workers[number].process.pid
                before = page_faults([pid]) or 0
                rates[name][number][at] = block(workers[number], steps)
                faults[name] += ((page_faults([pid]) or 0) - before) / steps / rounds / 2
    return rates, faults


def offset(pairs: list[tuple[Rates, Rates]]) -> tuple[float, float]:
    """Standard deviations: of one process's offset, and of a pair's ratio with all its noise.

    A pair's offset is what its even and odd rounds share. The true ratio is 1, so the mean product
    of their logarithms is the offset's variance, however the noise is distributed. At least two
    rounds are needed.
    """
    logs = [
        [
            math.log(pair_of(a, {at: b[at] for at in b if at % 2 in kept}).total)
            for kept in ((0, 1), (0,), (1,))
        ]
        for a, b in pairs
    ]
    whole = fmean(both**2 for both, _, _ in logs)
    shared = fmean(even * odd for _, even, odd in logs)
    return math.sqrt(max(0.0, shared) / 2), math.sqrt(whole)


def main() -> None:
    parser = argparse.ArgumentParser(description="the offset between identical processes")
    parser.add_argument("--framework", default="torch")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--sets", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--block", type=float, default=0.4, help="seconds")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    names = arguments.settings.split(",")
    experiment = asked(
        frameworks=(arguments.framework,), wanted={"batch_size": (arguments.batch_size,)},
        sizes={"image_size": arguments.image_size}, threads=arguments.threads,
    )  # fmt: skip
    order = random.Random(0)
    sets, faults = [], []
    for number in range(arguments.sets):
        found = one_set(
            names, experiment, rounds=arguments.rounds, seconds=arguments.block, order=order
        )
        sets.append(found[0])
        faults.append(found[1])
        seen = (f"{name} {pair_of(a, b).total:.4f}" for name, (a, b) in sets[-1].items())
        print(f"set {number + 1}: ratios of the pairs {', '.join(seen)}", flush=True)
    for name in names:
        process, pair = offset([rates[name] for rates in sets])
        # Each worker of a setting against its counterpart under the first: two replicates per set.
        sides = [
            dict(enumerate(side for rates in sets for side in rates[which]))
            for which in (names[0], name)
        ]
        speed = ratio(*sides).interval()
        ends = f"{speed.low:.4f} .. {speed.high:.4f}" if speed.low else "few sets, no interval"
        print(
            f"{name:<16} offset of a process {100 * process:.2f} %, pair with noise "
            f"{100 * pair:.2f} %, {fmean(one[name] for one in faults):,.0f} page faults per step, "
            f"throughput {speed.value:.4f} of {names[0]} ({ends})"
        )


if __name__ == "__main__":
    main()
