"""mbench's training loop beside a framework's own, and how long runs of equals take.

Usage: python benchmarks/training.py [--frameworks torch,tf] [--processes 5] [--minutes 4]
       python benchmarks/training.py --identical 10 [--frameworks torch] [--seeds 3,5,10]

First: the task `fashion-mnist`, in short blocks of both loops that alternate in random order within
a process, over the same arrays. Drawing them is timed in neither; handing them over is timed in
both. The framework's own loop (bare/*_learning.py) follows its tutorials. The ratio is its seconds
over mbench's, so 1 means that mbench costs nothing; the interval is over processes.

Second: that many runs of the task `glyphs` comparing a framework with itself, each on its own data,
cycling through the numbers of seeds. None should say that they do not learn alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path
from time import monotonic

from mbench.api.requests import for_training
from mbench.contract import wire
from mbench.contract.learning import PrepareLesson
from mbench.engine.isolation import thread_variables
from mbench.environments.locate import find
from mbench.learning.arms import entries_of
from mbench.learning.data import arrays_of
from mbench.learning.task import FOLDER, find_task
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.stats import geometric_interval

ROOT = Path(__file__).resolve().parent
FOLDERS = {"torch": "pytorch", "tf": "tensorflow"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frameworks", default="")
    parser.add_argument("--processes", type=int, default=5, help="of each framework")
    parser.add_argument("--minutes", type=float, default=4.0, help="of all, at most")
    parser.add_argument("--rounds", type=int, default=10, help="of each process")
    parser.add_argument("--steps", type=int, default=20, help="of a block")
    parser.add_argument("--threads", type=int, default=default_threads().count)
    parser.add_argument("--data", type=Path, help="folder of Fashion-MNIST")
    parser.add_argument("--identical", type=int, default=0, help="runs of equals")
    parser.add_argument("--seeds", default="3,5,10", help="of runs of equals, by turns")
    given = parser.parse_args()
    if given.identical:
        identical(given)
    else:
        loops(given)


def loops(given: argparse.Namespace) -> None:
    task = find_task("fashion-mnist", Plugins())
    arrays = arrays_of(task, given.data)
    end = monotonic() + 60 * given.minutes
    chosen = (given.frameworks or "torch,tf").split(",")
    experiment = for_training(chosen, {"device": "cpu", "threads": given.threads}, Plugins(),
                              task=task.name, data=None, seeds=None)  # fmt: skip
    entries = entries_of(experiment, task, Plugins())
    cases = {text: entry.case for text, entry in zip(chosen, entries, strict=True)}
    children = {text: child(text, given) for text in chosen}
    ratios: dict[str, list[float]] = {text: [] for text in chosen}
    took = 0.0
    for number in range(given.processes):
        for text, (command, variables) in children.items():
            begin = monotonic()
            if begin + took > end:
                print(f"{given.minutes:g} minutes are over", flush=True)
                break
            message = PrepareLesson(
                case=cases[text], lesson=task.lesson, data=str(arrays.folder), seed=number,
                steps=task.lesson.steps,
            )  # fmt: skip
            answer = subprocess.run(
                [*command, str(random.getrandbits(32))], env=variables, check=True,
                input=wire.encode(message), stdout=subprocess.PIPE,
            )  # fmt: skip
            pairs = json.loads(answer.stdout.splitlines()[-1])
            own, ours = (sum(side) for side in zip(*pairs, strict=True))
            ratios[text].append(own / ours)
            step = 1000 * own / (len(pairs) * given.steps)
            took = max(took, monotonic() - begin)
            print(f"{text} process {number + 1}: {own / ours:.4f}, {step:.2f} ms a step in its own "
                  f"loop, {monotonic() - begin:.0f} s", flush=True)  # fmt: skip
    for text, found in ratios.items():
        one = geometric_interval(found) if found else None
        if one is not None:
            ends = "" if one.low is None else f" ({one.low:.4f} .. {one.high:.4f} at 95 %)"
            print(f"{text}: own loop / mbench {one.value:.4f}{ends}, {len(found)} processes")


def child(text: str, given: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """The command of a process, without its seed; and its variables."""
    spec = parse(text)
    adapter = Plugins().adapter(spec.name)
    environment = find(spec, adapter, accelerator="cpu", provision=False, report=print)
    folder = FOLDERS[spec.name]
    paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / folder]
    variables = {
        **os.environ,
        **thread_variables(given.threads),
        **adapter.variables(threads=given.threads, device="cpu"),
        **environment.variables(),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [str(environment.python), "-m", "bare.learning", folder, adapter.runtime,
               str(given.rounds), str(given.steps)]  # fmt: skip
    return command, variables


def identical(given: argparse.Namespace) -> None:
    import mbench

    own = (FOLDER / "glyphs.toml").read_text(encoding="utf-8")
    counts = [int(count) for count in given.seeds.split(",")]
    framework = given.frameworks or "torch"
    print("| run | seeds | time | verdict | steps, 90 % | power | correlation |")
    print("|---|---|---|---|---|---|---|")
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for run in range(given.identical):
            task = Path(folder) / f"glyphs-{run}.toml"
            task.write_text(own.replace("\nseed = 1\n", f"\nseed = {100 + run}\n"))
            begin, seeds = monotonic(), counts[run % len(counts)]
            found = mbench.train(
                [framework, framework], task=task, seeds=seeds, threads=given.threads, quiet=True,
                results=Path(folder) / "results", provision=False,
            )  # fmt: skip
            (pair,) = found.summary.pairs
            different += pair.verdict in ("do not learn alike", "not the same training")
            ends = "-"
            if pair.steps is not None and pair.steps.low is not None:
                ends = f"{pair.steps.low:+.2%} .. {pair.steps.high:+.2%}"
            power = "-" if pair.power is None else f"{pair.power:.0%}"
            alike = "-" if pair.correlation is None else f"{pair.correlation:.3f}"
            print(f"| {run + 1} | {seeds} | {monotonic() - begin:.0f} s | {pair.verdict} | {ends} "
                  f"| {power} | {alike} |", flush=True)  # fmt: skip
    print(f"\n{different} of {given.identical} do not learn alike")


if __name__ == "__main__":
    main()
