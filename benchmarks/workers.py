"""Workers of one small case, as the benchmarks that need them start them."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.machine.cores import default_threads
from mbench.measure.warmup import warm_up
from mbench.plugins.manager import Plugins
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep, Value
from mbench.spec.planning import plan

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.engine.local import Worker

__all__ = ["ask_for_case", "block", "fresh_workers", "turn", "warm_worker_of_each",
           "warm_workers"]  # fmt: skip

TURN_SECONDS = 0.25


def block(worker: Worker, steps: int, *, lead: int = 0) -> float:
    """Steps per second of one block after `lead` steps, the worker stopped before and after."""
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
    """One sweep, on a device that is settled."""
    return Experiment(
        arms=tuple(map(Arm, frameworks)),
        sweeps=(Sweep(axes=wanted, sizes=sizes or {}),),
        launch=Launch(device=device, threads=threads),
    )


@contextmanager
def fresh_workers(count: int, experiment: Experiment) -> Iterator[list[Worker]]:
    """`count` identical workers of the one case of `axes`, prepared, not a step done."""
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
    """The same, warm and stopped, and the steps of a block."""
    with fresh_workers(count, experiment) as workers:
        for worker in workers:
            warmup = warm_up(lambda steps, w=worker: w.run(steps).nanoseconds[0])
            worker.stop()
        yield workers, max(1, round(block_seconds / warmup.step_seconds))


def ask_for_case(parser: ArgumentParser, *, image_size: int) -> None:
    """The options that `warm_worker_of_each` reads."""
    parser.add_argument("--frameworks", default="torch,tf")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--image-size", type=int, default=image_size)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--threads", type=int, default=default_threads().count)


@contextmanager
def warm_worker_of_each(arguments: Namespace) -> Iterator[dict[str, tuple[Worker, float]]]:
    """By framework, a worker that is warm and stopped, and the seconds of its step."""
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
