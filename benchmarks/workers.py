"""Starts workers of one small case, for the benchmarks that need them."""

from __future__ import annotations

import math
import tempfile
from argparse import ArgumentParser
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.measure.warmup import warm_up
from mbench.plugins.manager import Plugins
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep, Value
from mbench.spec.planning import plan
from mbench.stats import stdev

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mbench.engine.local import Worker

__all__ = ["ask_for_case", "block", "fresh_workers", "paired", "turn", "warm_worker_of_each",
           "warm_workers"]  # fmt: skip

TURN_SECONDS = 0.25
LEAD_SECONDS = 0.1


def block(worker: Worker, steps: int, *, lead: int = 0) -> float:
    """Steps per second of one block after `lead` steps. The worker is stopped before and after."""
    worker.resume()
    if lead:
        worker.run(lead)
    nanoseconds = worker.run(steps).nanoseconds[0]
    worker.stop()
    return steps * 1e9 / nanoseconds


def turn(worker: Worker, step_seconds: float) -> float:
    """Steps per second of a block as long as mbench's: a quarter of a second, or one step."""
    return block(worker, max(1, round(TURN_SECONDS / step_seconds)))


def asked(
    *,
    frameworks: Sequence[str],
    wanted: Mapping[str, tuple[Value, ...]],
    sizes: Mapping[str, int] | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Experiment:
    """An experiment of one sweep, on a given device."""
    return Experiment(
        arms=tuple(map(Arm, frameworks)),
        sweeps=(Sweep(axes=wanted, sizes=sizes or {}),),
        launch=Launch(device=device, threads=threads),
    )


@contextmanager
def fresh_workers(count: int, experiment: Experiment) -> Iterator[list[Worker]]:
    """`count` identical workers of the experiment's one case, prepared, before any step."""
    (comparison,) = plan(experiment, Plugins())
    (entry,) = comparison.entries
    environment = find(entry.spec, entry.adapter, accelerator="cpu", provision=True, report=print)
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory(prefix="mbench-") as folder:
        try:
            for number in range(count):
                worker, _ = launch(
                    entry.adapter, environment, entry.case,
                    log=Path(folder, f"{number}.log"), timeout=900,
                )  # fmt: skip
                workers.append(worker)
                worker.prepare(entry.case)
            yield workers
        finally:
            for worker in workers:
                worker.close()


@contextmanager
def warm_workers(
    count: int, experiment: Experiment, *, block_seconds: float
) -> Iterator[tuple[list[Worker], int]]:
    """Like `fresh_workers`, but warm and stopped; also the number of steps in a block."""
    with fresh_workers(count, experiment) as workers:
        for worker in workers:
            warmup = warm_up(lambda steps, w=worker: w.run(steps).nanoseconds[0])
            worker.stop()
        yield workers, max(1, round(block_seconds / warmup.step_seconds))


@dataclass(frozen=True, kw_only=True)
class Paired:
    """A warm worker, stopped, whose blocks are compared in pairs of two kinds."""

    name: str
    """Framework and mode."""
    worker: Worker
    steps: int
    """Steps in a block."""
    block_seconds: float
    pairs: int
    order: Random

    @property
    def lead(self) -> int:
        """Untimed steps before those of a block."""
        return round(LEAD_SECONDS / self.block_seconds * self.steps)

    def compare(self, prepare: Callable[[bool], None]) -> str:
        """How much slower or faster blocks of one kind are than those of the other, with the error:
        the mean of the pairs' log ratios. `prepare` is called before each block, with True for
        the first kind.
        """
        logs = []
        for _ in range(self.pairs):
            rates = {}
            for kind in self.order.sample((False, True), 2):
                self.worker.resume()
                prepare(kind)
                self.worker.stop()
                rates[kind] = block(self.worker, self.steps, lead=self.lead)
            logs.append(math.log(rates[True] / rates[False]))
        error = stdev(logs) / math.sqrt(len(logs))
        return f"{100 * math.expm1(fmean(logs)):+.2f} +- {100 * error:.2f} %"


def paired(description: str) -> Iterator[Paired]:
    """A Paired for each framework and mode that the command line asks for."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--frameworks", default="torch")
    parser.add_argument("--mode", default="train,inference")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--block", type=float, default=0.25, help="seconds")
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)
    arguments = parser.parse_args()
    order = Random(0)
    for name, mode in product(arguments.frameworks.split(","), arguments.mode.split(",")):
        experiment = asked(
            frameworks=(name,), threads=arguments.threads,
            wanted={"model": (arguments.model,), "mode": (mode,),
                    "batch_size": (arguments.batch_size,)},
            sizes={"image_size": arguments.image_size},
        )  # fmt: skip
        with warm_workers(1, experiment, block_seconds=arguments.block) as ((worker,), steps):
            yield Paired(
                name=f"{name} {mode}", worker=worker, steps=steps, pairs=arguments.pairs,
                block_seconds=arguments.block, order=order,
            )  # fmt: skip


def ask_for_case(parser: ArgumentParser, *, image_size: int) -> None:
    """The options that `warm_worker_of_each` reads."""
    parser.add_argument("--frameworks", default="torch,tf")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--image-size", type=int, default=image_size)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)


@contextmanager
def warm_worker_of_each(arguments: Namespace) -> Iterator[dict[str, tuple[Worker, float]]]:
    """By framework: a warm, stopped worker, and the seconds of its step."""
    with ExitStack() as stack:
        found = {}
        for name in arguments.frameworks.split(","):
            experiment = asked(
                frameworks=(name,), threads=arguments.threads,
                wanted={"model": (arguments.model,), "batch_size": (arguments.batch_size,)},
                sizes={"image_size": arguments.image_size},
            )  # fmt: skip
            (worker,), steps = stack.enter_context(warm_workers(1, experiment, block_seconds=1.0))
            found[name] = worker, 1 / steps
        yield found
