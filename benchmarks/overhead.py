"""Throughput through mbench against a bare hand-written loop of the same framework.

Usage: python benchmarks/overhead.py [--frameworks torch,tf,mxnet,paddle] [--processes 6]
           [--builds 4] [--device cpu|cuda] [--precision fp32|amp-fp16] [--steady]

Both train ResNet-50 in one process, so they share its settings, and in short blocks that alternate
in random order, so whatever slows the machine slows both. They do not share memory layout, which
makes one of two equal loops faster by about 2 %, possibly depending on which is built first. So
each process builds both loops anew several times, in alternating order, among memory blocks of
random sizes. Frameworks take turns by process, so that each is seen over the whole time. With
--steady, memory is in huge pages, as in mbench's own --steady, and a process has as many cores as
threads. With --threads 1 all of its work is on one core, so Python's time cannot hide behind other
work.

The headline is the ratio of totals, with each process a replicate. The ratio of median rounds is
printed beside it: bursts of other work on the machine's cores move it less. There each build is a
replicate, since builds of one process were seen to scatter as much as those of several.

Each block of either loop begins as mbench's do: garbage is collected, while the framework's threads
fall asleep, and one step is not timed. A ratio of 0.995 or better means that mbench costs half a
percent or less.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench.contract.tier import TUNED
from mbench.engine.isolation import thread_variables
from mbench.environments.locate import find
from mbench.machine import memory_layout
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.stats import Interval, geometric_interval

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent
FOLDERS = {"torch": "pytorch", "tf": "tensorflow", "mxnet": "mxnet", "paddle": "paddle"}


def said(interval: Interval) -> str:
    if interval.low is None:
        return f"{interval.value:.4f} (too few processes for an interval)"
    return f"{interval.value:.4f} ({interval.low:.4f} .. {interval.high:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="mbench against a bare loop")
    parser.add_argument("--frameworks", default="torch,tf,mxnet,paddle")
    parser.add_argument("--processes", type=int, default=6, help="of each framework")
    parser.add_argument("--builds", type=int, default=4, help="of both loops, in each process")
    parser.add_argument("--rounds", type=int, default=12, help="of each build")
    parser.add_argument("--steps", type=int, default=4, help="per block")
    parser.add_argument("--threads", type=int, default=default_threads().count)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: torch only")
    parser.add_argument("--precision", choices=("fp32", "amp-fp16"), default="fp32")
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--steady", action="store_true", help="huge pages, fixed addresses")
    parser.add_argument("--no-provision", action="store_true", help="build no environment")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    as_json = arguments.format == "json"
    tell = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    children = {text: child(text, arguments, tell) for text in arguments.frameworks.split(",")}
    found: dict[str, list[Process]] = {text: [] for text in children}
    for number in range(arguments.processes):
        for text, (command, variables) in children.items():
            with memory_layout.steadily(arguments.threads) if arguments.steady else nullcontext():
                answer = subprocess.run(
                    [*command, str(random.getrandbits(32))], env=variables, check=True,
                    stdout=subprocess.PIPE, stderr=None if as_json else subprocess.DEVNULL,
                    text=True,
                )  # fmt: skip
            one = Process.of(json.loads(answer.stdout.splitlines()[-1]))
            found[text].append(one)
            builds = " ".join(f"{build:.4f}" for build in one.builds)
            tell(f"{text} process {number + 1}: {one.total:.4f}, middle rounds of builds {builds}")
        if as_json:
            ratios = [told(text, processes, arguments) for text, processes in found.items()]
            print(json.dumps({"ratios": ratios}), flush=True)
    for text, processes in found.items():
        total, middle = intervals(processes)
        tell(f"{text}: mbench / bare throughput {said(total)}; of middle rounds {said(middle)}")


@dataclass(frozen=True)
class Process:
    """Ratios of one process, mbench's throughput over the bare loop's: above 1, mbench wins."""

    total: float
    """Ratio over all rounds of all builds."""
    builds: list[float]
    """Ratio of each build's median round."""
    bare_block_seconds: float
    """Mean of the bare loop's blocks."""

    @classmethod
    def of(cls, builds: list[list[tuple[float, float]]]) -> Process:
        """`builds` has the seconds of [bare, mbench] by build and round."""
        middles = [exp(median(log(bare / ours) for bare, ours in rounds)) for rounds in builds]
        bare, ours = (fmean(side) for side in zip(*chain.from_iterable(builds), strict=True))
        return cls(bare / ours, middles, bare)


def intervals(processes: list[Process]) -> tuple[Interval, Interval]:
    """Intervals of totals by process, and of median rounds by build."""
    return (
        geometric_interval([one.total for one in processes]),
        geometric_interval([build for one in processes for build in one.builds]),
    )


def told(text: str, processes: list[Process], arguments: argparse.Namespace) -> dict[str, object]:
    total, middle = intervals(processes)
    images = arguments.steps * arguments.batch_size
    return {
        "framework": text, "ratio": total.value, "low": total.low, "high": total.high,
        "middle": middle.value, "middle_low": middle.low, "middle_high": middle.high,
        "processes": len(processes), "builds": len(processes) * arguments.builds,
        "bare_images_per_second": images / fmean(one.bare_block_seconds for one in processes),
    }  # fmt: skip


def child(
    text: str, arguments: argparse.Namespace, report: Callable[[str], None]
) -> tuple[list[str], dict[str, str]]:
    """The command that times a framework's two loops, without its seed; and its variables."""
    spec = parse(text)
    adapter = Plugins().adapter(spec.name)
    environment = find(spec, adapter, accelerator=arguments.device,
                       provision=not arguments.no_provision, report=report)  # fmt: skip
    paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / FOLDERS[spec.name]]
    variables = {
        **os.environ,
        **(memory_layout.variables() if arguments.steady else {}),
        **thread_variables(arguments.threads),
        **adapter.variables(threads=arguments.threads, device=arguments.device),
        **adapter.tiers[TUNED].variables,  # as in bare/child.py
        **environment.variables(),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [
        str(environment.python), "-m", "bare.child", FOLDERS[spec.name], adapter.runtime,
        arguments.device, arguments.precision,
        *map(str, (arguments.batch_size, arguments.image_size, arguments.threads,
                   arguments.builds, arguments.rounds, arguments.steps)),
    ]  # fmt: skip
    return command, variables


if __name__ == "__main__":
    main()
