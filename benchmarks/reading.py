"""How long it takes to read many runs: history, and load, of 1,000 runs and a million samples.

Usage: python benchmarks/reading.py [--runs 1000] [--samples 1000]

Writes made-up runs, half of them with blocks alone and half with steps timed one by one, then
runs `mbench history` in a fresh process and `mbench.load` in another, and prints wall-clock
seconds, importing included.
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

PROCESSES = 5
LABELS = ("tiny", "flaky")


def write_run(folder: Path, number: int, *, samples: int) -> None:
    """One run of two cases and five processes; `samples` values in all."""
    draw = random.Random(number)
    name = (
        f"2026{1 + number // 84 % 12:02}{1 + number // 3 % 28:02}-{number % 24:02}0000-{number:04x}"
    )
    rounds = samples // (PROCESSES * len(LABELS))
    axes = {
        "model": "tiny-model", "workload": "mbench_tiny:TINY", "mode": "train", "batch_size": 8,
        "precision": "fp32", "compiler": "eager", "device": "cpu", "threads": 1, "seed": 0,
        "sizes": {}, "clip": True, "dropout": True,
        "plain_sgd": False, "learning_rate": None,
    }  # fmt: skip
    events = [
        {"event": "run", "schema": 1, "id": name, "mbench": "0.1.0", "arguments": ["mbench"],
         "started": f"2026-01-01T00:00:{number % 60:02}+00:00", "protocol": {},
         "system": {"hostname": "made-up", "cpu": "made-up", "gpus": []}},
        {"event": "comparison", "comparison": 0, "title": "tiny-model train, batch 8, fp32"},
    ]  # fmt: skip
    for case, label in enumerate(LABELS):
        events.append(
            {"event": "case", "case": case, "comparison": 0, "label": label, "framework": label,
             "title": label, "spec": label, "axes": axes, "samples": "samples",
             "flops_per_sample": 1e9, "standard": True, "loss_gate": 1e-5}
        )  # fmt: skip
        events.append(
            {"event": "framework", "case": case, "version": f"1.{number // 100}",
             "devices": ["cpu"], "device_name": "CPU", "threads": 1, "versions": {}, "details": {}}
        )  # fmt: skip
        for process in range(PROCESSES):
            values = [round(1e9 * draw.lognormvariate(0, 0.02)) for _ in range(rounds)]
            if number % 2:
                blocks = [(False, 10, [value]) for value in values]
            else:
                blocks = [(False, 10, values[:1]), (True, rounds - 1, values[1:])]
            for at, (each, steps, nanoseconds) in enumerate(blocks):
                events.append(
                    {"event": "block", "case": case, "process": process, "round": at,
                     "steps": steps, "each": each, "start": 0, "nanoseconds": nanoseconds}
                )  # fmt: skip
    events.append({"event": "end", "status": "complete", "finished": "2026-01-01T01:00:00+00:00"})
    (folder / name).mkdir()
    lines = (json.dumps(event, separators=(",", ":")) + "\n" for event in events)
    (folder / name / "run.jsonl").write_text("".join(lines))


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
