"""How long it takes to read many runs: history, and load, of 1,000 runs and a million samples.

Usage: python benchmarks/reading.py [--runs 1000] [--samples 1000]

Writes made-up runs, half of them with blocks only and half with individually timed steps. Then runs
`mbench history` in a fresh process and `mbench.load` in another, and prints wall-clock seconds,
including imports.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_up import PROCESSES, begun, block, case, process, write

from mbench.results import events

LABELS = ("tiny", "flaky")


def write_run(folder: Path, number: int, *, samples: int) -> None:
    """One run of two cases and five processes; `samples` values in all."""
    draw = random.Random(number)
    name = (
        f"2026{1 + number // 84 % 12:02}{1 + number // 3 % 28:02}-{number % 24:02}0000-{number:04x}"
    )
    rounds = samples // (PROCESSES * len(LABELS))
    made: list[events.Event] = [
        begun(name, second=number % 60),
        events.Comparison(comparison=0, title="made-up train, batch 8, fp32"),
    ]
    for at, label in enumerate(LABELS):
        made += case(at, label, version=f"1.{number // 100}")
        for of in range(PROCESSES):
            values = [round(1e9 * draw.lognormvariate(0, 0.02)) for _ in range(rounds)]
            made.append(process(at, of))
            if number % 2:
                made += [block(at, of, round_, [value]) for round_, value in enumerate(values)]
            else:
                made += [block(at, of, 0, values[:1]), block(at, of, 1, values[1:], each=True)]
    write(folder, made)


def seconds(*command: str) -> float:
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="reading many runs")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1000, help="in each run")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.runs):
            write_run(Path(folder), number, samples=chosen.samples)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.jsonl")) / 2**20
        total = chosen.runs * chosen.samples
        print(f"{chosen.runs} runs, {total} samples, {size:.0f} MiB")
        history = [
            seconds(sys.executable, "-m", "mbench", "history", "--results", folder)
            for _ in range(3)
        ]
        load = [
            seconds(sys.executable, "-c", f"import mbench; print(mbench.load({folder!r}))")
            for _ in range(3)
        ]
        for name, values in (("mbench history", history), ("mbench.load", load)):
            print(f"{name:16} {min(values):5.2f} s (best of 3), {max(values):5.2f} s (worst)")


if __name__ == "__main__":
    main()
