"""Throughput through mbench against a bare hand-written loop of the same framework.

Usage: python benchmarks/overhead.py [--frameworks torch,tf,mxnet,paddle] [--pairs 6]
           [--device cpu|cuda] [--precision fp32|amp-fp16] [--steady]

Both train ResNet-50 in one process, so that they share its settings, in short blocks that alternate
in random order, so that what slows the machine slows both. What they do not share is how their
memory is laid out, which the order in which they are built may decide: by some 2 % in PyTorch. So
each pair of processes has one in either order, and the pair is the replicate. With --steady memory
scatters less: it is laid out as mbench's own --steady lays it out.

The headline is the ratio of totals. That of middle rounds stands beside it: bursts of other work on
the machine's cores move it less.

Each block of either loop begins as mbench's do: garbage is collected, in which the framework's
threads fall asleep, and one step is not timed. A ratio of 0.995 or better means that mbench costs
half a percent or less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import fmean

from mbench.contract.tier import ADVISED
from mbench.engine import steady
from mbench.engine.variables import thread_variables
from mbench.environments.locate import find
from mbench.environments.spec import parse
from mbench.plugins import Plugins
from mbench.stats import Interval, geometric_interval, pair_of, pairs_of, ratio
from mbench.telemetry.system import usable_cores

ROOT = Path(__file__).resolve().parent
FOLDERS = {"torch": "pytorch", "tf": "tensorflow", "mxnet": "mxnet", "paddle": "paddle"}


def said(interval: Interval) -> str:
    if interval.low is None:
        return f"{interval.value:.4f} (too few pairs for an interval)"
    return f"{interval.value:.4f} ({interval.low:.4f} .. {interval.high:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="mbench against a bare loop")
    parser.add_argument("--frameworks", default="torch,tf,mxnet,paddle")
    parser.add_argument("--pairs", type=int, default=6, help="of processes")
    parser.add_argument("--rounds", type=int, default=24, help="of each process")
    parser.add_argument("--steps", type=int, default=4, help="per block")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: torch only")
    parser.add_argument("--precision", choices=("fp32", "amp-fp16"), default="fp32")
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--steady", action="store_true", help="huge pages, fixed addresses")
    parser.add_argument("--no-provision", action="store_true", help="build no environment")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    plugins, found = Plugins(), []
    as_json = arguments.format == "json"
    tell = partial(print, file=sys.stderr if as_json else sys.stdout, flush=True)
    for text in arguments.frameworks.split(","):
        spec = parse(text)
        adapter = plugins.adapter(spec.name)
        environment = find(spec, adapter, accelerator=arguments.device,
                           provision=not arguments.no_provision, report=tell)  # fmt: skip
        paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / FOLDERS[spec.name]]
        variables = {
            **os.environ,
            **(steady.variables() if arguments.steady else {}),
            **thread_variables(arguments.threads),
            **adapter.variables(threads=arguments.threads, device=arguments.device),
            **adapter.tiers[ADVISED].variables,  # as in bare/child.py
            **environment.variables(),
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
        }
        bare: dict[int, dict[int, float]] = {}
        ours: dict[int, dict[int, float]] = {}
        for number in range(2 * arguments.pairs):
            command = [
                str(environment.python), "-m", "bare.child", FOLDERS[spec.name], adapter.runtime,
                arguments.device, arguments.precision,
                *map(str, (arguments.batch_size, arguments.image_size, arguments.threads,
                           arguments.rounds, arguments.steps, number)),
            ]  # fmt: skip
            with steady.steadily(arguments.threads) if arguments.steady else nullcontext():
                answer = subprocess.run(
                    command, env=variables, check=True, stdout=subprocess.PIPE,
                    stderr=None if as_json else subprocess.DEVNULL, text=True,
                )  # fmt: skip
            rounds = json.loads(answer.stdout.splitlines()[-1])
            by_hand, by_mbench = (
                {r: 1 / seconds for r, seconds in enumerate(side, number * len(rounds))}
                for side in zip(*rounds, strict=True)
            )
            bare.setdefault(number // 2, {}).update(by_hand)
            ours.setdefault(number // 2, {}).update(by_mbench)
            one = pair_of(by_hand, by_mbench).total
            tell(f"{text} process {number + 1}: {one:.4f}")
        pairs = pairs_of(bare, ours)
        total = ratio(bare, ours).interval()
        middle = geometric_interval([pair.median for pair in pairs])
        tell(f"{text}: mbench / bare throughput {said(total)}; of middle rounds {said(middle)}")
        rate = fmean(value for rounds in bare.values() for value in rounds.values())
        found.append(
            {"framework": text, "ratio": total.value, "low": total.low, "high": total.high,
             "middle": middle.value, "middle_low": middle.low, "middle_high": middle.high,
             "pairs": len(pairs),
             "bare_images_per_second": rate * arguments.steps * arguments.batch_size}
        )  # fmt: skip
        if as_json:
            print(json.dumps({"ratios": found}), flush=True)


if __name__ == "__main__":
    main()
