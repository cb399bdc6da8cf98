"""Whether pauses reach a ratio: a framework against itself, stopped at random moments.

Usage: python benchmarks/pauses.py [--pauses 10] [--longest 60] [--framework tiny]

All processes of a comparison are stopped and continued, as by a container's pause or a suspended
job, for 0.5 s to `--longest` seconds each, evenly on a logarithmic scale. Prints each pause with
what mbench says about it, and the ratio, which should be 1 within its interval. The exit code is 1
if a pause is not reported, a block is longer than it can be, or the interval excludes 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from mbench.results.run import load_run
from mbench.results.summary import analyse

SHORTEST = 0.5
SLACK = 0.4
"""Seconds by which a reported pause may differ from the real one: mbench ticks every 0.1 s."""


def main() -> int:
    parser = argparse.ArgumentParser(description="whether pauses reach a ratio")
    parser.add_argument("--framework", default="tiny")
    parser.add_argument("--model", default="tiny-model")
    parser.add_argument("--pauses", type=int, default=10)
    parser.add_argument("--longest", type=float, default=60.0, help="seconds")
    parser.add_argument("--apart", type=float, default=4.0, help="mean seconds between pauses")
    parser.add_argument("--block", type=float, default=0.3, help="seconds")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "mbench", "compare", given.framework, given.framework,
            "--models", given.model, "--batch-size", "8", "--processes", str(given.processes),
            "--rounds", str(given.rounds), "--block", str(given.block), "--no-mfu", "--no-verify",
            "--timeout", "5", "--budget", "9999", "--results", folder,
        ]  # fmt: skip
        with subprocess.Popen(command, start_new_session=True) as process:
            made = paused(process, given.pauses, given.longest, given.apart, chance)
        (path,) = Path(folder).glob("*/run.jsonl")
        return judged(path, made, given.block)


def paused(
    process: subprocess.Popen[bytes], count: int, longest: float, apart: float,
    chance: random.Random,
) -> list[float]:  # fmt: skip
    """Stop all processes that many times; returns the seconds of each pause."""
    made = []
    for _ in range(count):
        time.sleep(1 + chance.expovariate(1 / max(0.1, apart - 1)))
        if process.poll() is not None:
            break
        whole = psutil.Process(process.pid)
        pids = [whole.pid, *(child.pid for child in whole.children(recursive=True))]
        begin = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(SHORTEST * (longest / SHORTEST) ** chance.random())
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        made.append(time.monotonic() - begin)
    return made


def judged(path: Path, made: list[float], block: float) -> int:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    told = [one for one in events if one["event"] == "absence" and one["what"] == "mbench"]
    wrong = abs(len(told) - len(made))
    for seconds, one in zip(made, told, strict=False):
        near = abs(seconds - one["seconds"]) < SLACK
        wrong += not near
        fell = "into a block" if one["case"] is not None else "between blocks"
        print(f"paused for {seconds:.1f} s, told {one['seconds']:.1f} s, {fell}")
    lengths = [sum(one["nanoseconds"]) / 1e9 for one in events if one["event"] == "block"]
    print(f"{len(made)} pauses, {len(told)} told")
    print(f"{len(lengths)} blocks, median {median(lengths):.2f} s, longest {max(lengths):.2f} s")
    (pair,) = [one for one in analyse(load_run(path.parent)).comparisons if one.ratio is not None]
    print(f"ratio {pair.ratio:.4f} ({pair.low} .. {pair.high})")
    if pair.low is not None and pair.high is not None:
        wrong += not pair.low <= 1 <= pair.high
    return int(wrong > 0 or max(lengths) > 10 * block)


if __name__ == "__main__":
    sys.exit(main())
