"""What NVML reports about the GPU, and how long one look at it takes; prints one line of JSON.

Usage: python -m acceptance.gauges [--looks 50]
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from statistics import median

from mbench.machine.nvml import seen_gpus


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--looks", type=int, default=50)
    looks = parser.parse_args().looks
    gpu = next(iter(seen_gpus()), None)
    if gpu is None:
        print(json.dumps({"wrong": ["NVML shows no GPU"]}))
        return
    milliseconds = []
    for _ in range(looks):
        begin = time.perf_counter()
        sample = gpu.sample()
        milliseconds.append(1e3 * (time.perf_counter() - begin))
    memory = gpu.memory()
    found = {
        "gpu": gpu.facts(),
        "look_ms": {"median": median(milliseconds), "highest": max(milliseconds)},
        "sample": asdict(sample),
        "free_bytes": memory and memory[0],
        "persistence_mode": gpu.ask("GetPersistenceMode"),
        "processes": None if gpu.processes() is None else len(gpu.processes() or ()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
