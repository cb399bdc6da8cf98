"""Decoding through mbench beside each framework's plain loop, and beside transformers' `generate`.

Usage: python benchmarks/decode.py [--frameworks torch,jax] [--processes 5] [--rounds 16]
           [--model llama-15m] [--batch-size 1] [--threads N]

A process runs all loops on the same weights, in short blocks that alternate in random order, so
that whatever slows the machine slows all of them. Each process is a replicate. The plain loop calls
the model's own functions token by token, as one would write it by hand, without mbench. `generate`
is transformers' own in PyTorch, greedy, with a static cache. Its time is that of N + 1 new tokens
less that of one, which excludes the prompt, and mbench is given the tokens that it chose. Between
the two is transformers' whole forward pass in a loop, without `generate`.

Ratios are mbench's throughput divided by the other's: above 1, mbench is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from statistics import fmean

from mbench.engine.isolation import thread_variables
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.stats import Interval, geometric_interval

ROOT = Path(__file__).resolve().parent
FOLDERS = {"torch": "pytorch", "jax": "jax"}
OTHERS = {
    "plain": "the plain loop",
    "forward": "transformers' forward pass in a loop",
    "generate": "transformers' generate with a static cache",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="decoding through mbench beside plain loops")
    parser.add_argument("--frameworks", default="torch,jax")
    parser.add_argument("--model", default="llama-15m")
    parser.add_argument("--processes", type=int, default=5, help="of each framework")
    parser.add_argument("--rounds", type=int, default=16, help="of each process")
    parser.add_argument("--steps", type=int, default=3, help="per block, each of all new tokens")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    parser.add_argument("--no-provision", action="store_true", help="build no environment")
    arguments = parser.parse_args()
    for text in arguments.frameworks.split(","):
        compare(text, arguments)


def compare(text: str, arguments: argparse.Namespace) -> None:
    command, variables = child(text, arguments)
    found = []
    for _ in range(arguments.processes):
        answer = subprocess.run(
            [*command, str(random.getrandbits(32))], env=variables, check=True, text=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        found.append(json.loads(answer.stdout.splitlines()[-1]))
    first = found[0]
    millis = 1e3 * fmean(one["seconds"]["mbench"] for one in found) / first["tokens"]
    what = f"{arguments.model} decode, batch {arguments.batch_size}, {arguments.threads} threads"
    print(f"{text}: {what}: {millis:.3g} ms per token of {first['tokens']}", flush=True)
    for name, title in OTHERS.items():
        if name in first["seconds"]:
            ratios = [one["seconds"][name] / one["seconds"]["mbench"] for one in found]
            print(f"{text}: mbench / {title}: {said(geometric_interval(ratios))}", flush=True)
    if "same" in first:
        same = min(one["same"] for one in found)
        apart = max(one["apart"] for one in found)
        chosen = f"mbench's logits choose {same} of generate's {first['tokens']} tokens"
        print(f"{text}: {chosen}, and are {apart:.1e} from transformers'", flush=True)


def said(interval: Interval) -> str:
    if interval.low is None:
        return f"{interval.value:.4f} (too few processes for an interval)"
    return f"{interval.value:.4f} ({interval.low:.4f} .. {interval.high:.4f})"


def child(text: str, arguments: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """The command that times a framework's loops, without its seed, and its variables."""
    spec = parse(text)
    adapter = Plugins().adapter(spec.name)
    environment = find(
        spec, adapter, accelerator="cpu", provision=not arguments.no_provision,
        report=lambda line: print(line, file=sys.stderr),
    )  # fmt: skip
    folder = FOLDERS[spec.name]
    paths = [ROOT, ROOT.parent / "core", ROOT.parent / "adapters" / folder]
    variables = {
        **os.environ,
        **thread_variables(arguments.threads),
        **adapter.variables(threads=arguments.threads, device="cpu"),
        **environment.variables(),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [
        str(environment.python), "-m", "bare.decode", folder, adapter.runtime,
        next(iter(adapter.compilers)), arguments.model,
        *map(str, (arguments.batch_size, arguments.threads, arguments.rounds, arguments.steps)),
    ]  # fmt: skip
    return command, variables


if __name__ == "__main__":
    main()
