"""What a call of an operator takes through mbench, against a loop written by hand in one process.

Both compute the same calls with the same PyTorch layers, in turns, and keep their outputs: if each
output were dropped at once, the next one would reuse its cached memory. A call's time is the slope
between a step of few calls and a step of many, so it excludes a step's own cost.

    PYTHONPATH=core:adapters/pytorch PATH-TO-PYTHON-WITH-TORCH benchmarks/operators.py
"""

from __future__ import annotations

import argparse
import random
from itertools import count
from statistics import median, quantiles
from time import perf_counter_ns

import torch

from mbench.contract.case import Case
from mbench.scenarios.find import prepared, work_of
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench_pytorch.runtime import Runtime

CALLS = {
    "op:add/32x32": (32, 256),
    "op:matmul/48x48x48": (32, 256),
    "op:matmul/64x64x64": (32, 256),
    "op:linear/256x768x768": (2, 8),
    "op:conv2d/4x64x56x56-o64-k3-p1": (2, 8),
    "op:matmul/4096x4096x4096": (1, 2),
}
"""Calls in small and large steps. The first takes a few microseconds, the last about a second."""
BLOCK_SECONDS = 0.1


def case(name: str, calls: int, threads: int) -> Case:
    return Case(
        model=name, workload="mbench.workloads.operators:OPERATORS", mode="inference",
        batch_size=calls, precision="fp32", compiler="eager", device="cpu", threads=threads,
    )  # fmt: skip


def through_mbench(runtime: Runtime, made: Case):
    """A step as workers time it."""
    steps = prepared(runtime, work_of(made))
    steps.benchmark.load_parameters(steps.work.workload.parameters(seed=0))
    return BatchCycler(steps).step, steps.benchmark


def by_hand(benchmark):
    """The same layers on the same inputs. Outputs are kept until the next step's are made."""
    layers = list(benchmark.model.calls)
    inputs = [one.name for one in benchmark.workload.config.inputs()]
    batches = [
        [[batch[f"{name}.{at}"] for at in range(len(layers))] for name in inputs]
        for batch in benchmark.placed_batches
    ]
    turns = count()
    kept = {}

    @torch.inference_mode()
    def step() -> None:
        operands = zip(*batches[next(turns) % len(batches)], strict=True)
        kept["outputs"] = [layer(*each) for layer, each in zip(layers, operands, strict=True)]

    return step


def seconds(step, steps: int) -> float:
    """Duration of one step."""
    return sum(time_steps(step, lambda: None, count=steps, each=False).nanoseconds) / steps / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--operators", default=",".join(CALLS), help="some of those known here")
    arguments = parser.parse_args()
    runtime = Runtime(device="cpu", threads=arguments.threads)
    for name in arguments.operators.split(","):
        steps = {}
        for calls in CALLS[name]:
            step, benchmark = through_mbench(runtime, case(name, calls, arguments.threads))
            steps["mbench", calls], steps["by hand", calls] = step, by_hand(benchmark)
        counts = {}
        for which, step in steps.items():
            step()
            begin = perf_counter_ns()
            step()
            counts[which] = max(1, round(BLOCK_SECONDS * 1e9 / (perf_counter_ns() - begin)))
        ratios, times = [], []
        few, many = CALLS[name]
        rounds = arguments.rounds if min(counts.values()) > 1 else max(3, arguments.rounds // 8)
        for _ in range(rounds):
            taken = {
                which: seconds(steps[which], counts[which])
                for which in random.sample(sorted(steps), len(steps))
            }
            slopes = {
                who: (taken[who, many] - taken[who, few]) / (many - few)
                for who in ("mbench", "by hand")
            }
            ratios.append(slopes["mbench"] / slopes["by hand"])
            times.append(slopes["by hand"])
        low, _, high = quantiles(ratios, n=4)
        print(
            f"{name}: a call takes {median(times) * 1e6:,.2f} us by hand; through mbench "
            f"{median(ratios):.3f} times that (quartiles {low:.3f} .. {high:.3f}, {rounds} rounds)",
            flush=True,
        )


if __name__ == "__main__":
    main()
