"""How long the command line takes to start, and how much memory it takes.

Usage: python benchmarks/startup.py [--runs 20]

Runs each command in a fresh process, taking the commands in turn, and prints the median and the
range of wall-clock seconds. Bare Python is included for comparison.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time

MBENCH = [sys.executable, "-m", "mbench"]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "mbench --help": [*MBENCH, "--help"],
    "mbench list": [*MBENCH, "list"],
    "mbench compare --help": [*MBENCH, "compare", "--help"],
}


def seconds(command: list[str]) -> tuple[float, int]:
    """Wall-clock seconds and peak resident KiB of one run."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return elapsed, usage.ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description="start-up of the command line")
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in COMMANDS}
    for name in COMMANDS:
        seconds(COMMANDS[name])  # warms the file cache
    for _ in range(runs):
        for name in random.sample(list(COMMANDS), len(COMMANDS)):
            found[name].append(seconds(COMMANDS[name]))
    for name, values in found.items():
        times = sorted(elapsed for elapsed, _ in values)
        middle = statistics.median(times) * 1e3
        peak = max(memory for _, memory in values) / 1024
        ends = f"{times[0] * 1e3:.0f} .. {times[-1] * 1e3:.0f}"
        print(f"{name:24} {middle:6.0f} ms ({ends}), {peak:.0f} MiB")


if __name__ == "__main__":
    main()
