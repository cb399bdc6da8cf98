"""How long it takes to know a ratio within 2 %: mbench, and processes one after the other.

Usage: python benchmarks/time_to_verdict.py [--frameworks torch,tf] [--within 2] [--trials 2]

Each trial runs, in random order, `mbench compare --until` and DLPerf's method: a fresh process per
measurement, 20 steps and then 100 that count, the frameworks in turn, until the interval of the
ratio is as narrow, by the same rule. That interval is Welch's, on the logarithms of the processes'
throughputs. DLPerf itself stops after 7 processes and reports no interval, so here it is given more
time than it takes. Environments and proofs are made beforehand, and both ways measure the same case
on equally many threads.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workers import asked, fresh_workers

from mbench.machine.cores import default_threads
from mbench.measure.stopping import narrow_enough
from mbench.stats import Interval, contrast

SKIPPED, COUNTED = 20, 100  # DLPerf's README
FEWEST = 5  # processes per framework before an interval is believed: mbench's default


def by_mbench(arguments: argparse.Namespace, *, budget: float) -> tuple[Interval, float]:
    """The interval, and the seconds it took."""
    with tempfile.TemporaryDirectory(prefix="mbench-") as folder:
        report = Path(folder, "report.json")
        command = [
            sys.executable, "-m", "mbench", "compare", "--frameworks", arguments.frameworks,
            "--image-size", str(arguments.image_size), "--batch-size", str(arguments.batch_size),
            "--threads", str(arguments.threads), "--until", f"{arguments.within}%",
            "--processes", str(FEWEST), "--max-processes", str(arguments.most),
            "--budget", str(budget), "--no-mfu", "--results", folder, "--format", "json",
            "--output", str(report),
        ]  # fmt: skip
        begin = time.monotonic()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        (found,) = json.loads(report.read_text(encoding="utf-8"))["comparisons"]
    assert found["ratio"] is not None, found["reason"]
    return Interval(found["ratio"], found["low"], found["high"], found["process_pairs"]), seconds


def by_dlperf(arguments: argparse.Namespace) -> tuple[Interval, float]:
    """The interval, once narrow enough or after the most processes; the seconds it took."""
    frameworks = arguments.frameworks.split(",")
    rates: dict[str, list[float]] = {name: [] for name in frameworks}
    widths: list[float | None] = []
    begin = time.monotonic()
    while True:
        for name in frameworks:
            experiment = asked(
                frameworks=(name,), wanted={"batch_size": (arguments.batch_size,)},
                sizes={"image_size": arguments.image_size}, threads=arguments.threads,
            )  # fmt: skip
            with fresh_workers(1, experiment) as (worker,):
                worker.run(SKIPPED)
                rates[name].append(COUNTED * 1e9 / worker.run(COUNTED).nanoseconds[0])
        interval = contrast(*rates.values())
        widths.append(interval.half_width)
        if len(widths) % 10 == 0:
            print(f"dlperf: {told(interval)} after {time.monotonic() - begin:.0f} s", flush=True)
        narrow = narrow_enough(widths, goal=arguments.within / 100, fewest=FEWEST)
        if narrow or len(widths) >= arguments.most:
            return interval, time.monotonic() - begin


def told(interval: Interval) -> str:
    ends = f"{interval.low:.4f} .. {interval.high:.4f}"
    return f"{interval.value:.4f} ({ends}), {interval.replicates} processes each,"


def main() -> None:
    parser = argparse.ArgumentParser(description="time to a ratio with an honest interval")
    parser.add_argument("--frameworks", default="torch,tf")
    parser.add_argument("--within", type=float, default=2.0, help="per cent, to either side")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--most", type=int, default=60, help="processes per framework")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    ways = {
        "mbench": lambda: by_mbench(arguments, budget=7200),
        "dlperf": lambda: by_dlperf(arguments),
    }
    prove = [sys.executable, "-m", "mbench", "verify", "--frameworks", arguments.frameworks]
    subprocess.run(prove, check=True)  # beforehand, as for users from the second run on
    taken: dict[str, list[float]] = {name: [] for name in ways}
    short = dict.fromkeys(ways, 0)  # trials in which the most processes were not enough
    for trial in range(arguments.trials):
        for name in random.sample(list(ways), len(ways)):
            interval, seconds = ways[name]()
            taken[name].append(seconds)
            wide = (interval.half_width or 1.0) > arguments.within / 100
            short[name] += wide
            still = ", too wide still" if wide else ""
            print(f"trial {trial + 1}, {name}: {told(interval)} after {seconds:.0f} s{still}",
                  flush=True)  # fmt: skip
    means = {name: sum(seconds) / len(seconds) for name, seconds in taken.items()}
    least = " at least" if short["dlperf"] else ""
    if short["mbench"]:
        print(f"mbench did not get there with {arguments.most} processes")
    else:
        print(f"mbench was there{least} {means['dlperf'] / means['mbench']:.1f} times as soon")


if __name__ == "__main__":
    main()
