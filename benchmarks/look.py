"""What a worker's look at itself costs, interleaved with processes that do not look.

Usage: python benchmarks/look.py PYTHON... [--runs 10] [--import torch]

Starts processes of each Python in turn. Each imports the module and looks twice. Prints the
processor time and wall-clock time of the first and the second look. mbench looks once, before a
process prepares its case, so a look is never within a block and does not touch its loop.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

import mbench

CODE = """
import importlib, json, sys, time
sys.path.insert(0, sys.argv[1])
from mbench.contract.compat import CHECKS
if not CHECKS:
    from mbench.worker.compat import teach
    teach()
from mbench.worker import state
if sys.argv[2]:
    importlib.import_module(sys.argv[2])
costs = []
for _ in range(2):
    wall, used = time.perf_counter(), time.process_time()
    found = state.look()
    costs += [time.process_time() - used, time.perf_counter() - wall]
print(json.dumps([len(found.packages), len(found.libraries), *costs]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="the cost of a worker's look at itself")
    parser.add_argument("pythons", nargs="+")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--import", dest="module", default="", help="a framework's module")
    given = parser.parse_args()
    core = str(Path(mbench.__file__).parents[1])
    found: dict[str, list[list[float]]] = {python: [] for python in given.pythons}
    for _ in range(given.runs):
        for python in given.pythons:
            done = subprocess.run(
                [python, "-c", CODE, core, given.module],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            found[python].append(json.loads(done.stdout.splitlines()[-1]))
    for python, rows in found.items():
        packages, libraries = (int(rows[0][at]) for at in (0, 1))
        print(f"{python}: {packages} distributions, {libraries} libraries from elsewhere")
        for what, at in (("first look", 2), ("second look", 4)):
            used, wall = ([1e3 * row[at + kind] for row in rows] for kind in (0, 1))
            print(
                f"  {what}: {statistics.median(used):.0f} ms of processor time (at most "
                f"{max(used):.0f}), {statistics.median(wall):.0f} ms in all (at most "
                f"{max(wall):.0f})"
            )


if __name__ == "__main__":
    main()
