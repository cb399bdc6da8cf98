"""Proves the pixels of each input pipeline, in a worker of its own, before anything is timed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract import wire
from mbench.contract.feed import WARM
from mbench.engine.isolation import temporary_folder
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.machine import kernel
from mbench.machine.absence import wait_until
from mbench.machine.processor_time import family
from mbench.machine.stopped import all_stopped
from mbench.plugins.launcher import pids_here
from mbench.proofs import pixels
from mbench.results import events
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.measure.run_context import RunContext
    from mbench.plugins.launcher import Worker
    from mbench.proofs.pixels import Asked, Given
    from mbench.spec.planning import Entry

__all__ = ["observe_pixels", "probe_case", "prove_pixels"]

STOPPING_SECONDS = 3.0
STOPPED_SECONDS = 0.3
"""How long the pipeline is stopped while its files have other content: enough to read them all."""


def probe_case(case: Case, folder: Path) -> Case:
    """`case` on the probes, at the size they are made for or the model's smallest."""
    least = find_workload(case.workload, case.model).sizes["image_size"].least
    size = {"image_size": max(pixels.SIZE, least)}
    return replace(case, data=str(folder), batch_size=pixels.BATCH, storage=WARM, sizes=size)


def prove_pixels(entry: Entry, environment: Environment, context: RunContext) -> None:
    """Record the grade of an entry's pixels; raises CaseEnded if they are not proven."""
    log = context.store.log_path(f"{entry.number:03}-{entry.spec.name}-pixels.log")
    with temporary_folder() as folder:
        pixels.write_probes(folder, "a")
        case = probe_case(entry.case, folder)
        worker, _ = launch(
            entry.adapter, environment, case, log=log,
            timeout=context.launch.timeout_seconds, launcher=context.launcher,
        )  # fmt: skip
        try:
            depth = worker.prepare(case).depth
            found = observe_pixels(
                worker, folder, depth=depth, threads=case.threads, seed=case.seed
            )
        finally:
            worker.close()
    context.store.append(
        events.Pixels(
            case=entry.number, grade=found.grade, largest=found.largest, mean=found.mean,
            psnr=found.psnr, failures=found.failures,
        )
    )  # fmt: skip
    if context.allow_unequal:
        return
    if found.failures:
        raise CaseEnded("not-equal", f"pixels: {'; '.join(found.failures)}")
    if found.grade == pixels.ANOTHER:
        raise CaseEnded("not-equal", f"pixels: {found.said}; --allow-unequal measures it anyway")


def observe_pixels(
    worker: Worker, folder: Path, *, depth: int, threads: int, seed: int = 0
) -> pixels.PixelFindings:
    """Let a worker that has prepared the probe case read all probes several times."""
    asked = pixels.Asked(seed)
    epochs = []
    cores = 0
    for content, central in (("a", False), ("b", False), ("b", True)):
        pixels.write_probes(folder, content)
        given = asked.epoch(content, central=central)
        try:
            epochs.append((given, epoch_of(worker, given)))
        except CaseEnded as end:
            if "ended before its last batch" not in end.reason:
                raise
            found = pixels.judge(epochs)
            found.failures.append("samples are missing: the last batch is dropped")
            return found
        cores = cores_of(worker)  # at the end, when all loaders have begun
    found = pixels.judge(epochs)
    if cores > threads:
        found.failures.append(
            f"its loaders may use {counted(cores, 'core')}, although {counted(threads, 'thread')} "
            f"{'was' if threads == 1 else 'were'} requested"
        )
    if not found.failures and works_while_stopped(worker, folder, asked, depth=depth):
        found.failures.append("the pipeline works while it is stopped")
    return found


def cores_of(worker: Worker) -> int:
    """The number of cores of this machine on which threads of the worker's processes may run."""
    return len(
        {
            core
            for pid in pids_here(worker)
            for process in family(pid)
            for core in kernel.cores_of_threads(process.pid)
        }
    )


def at_rest(worker: Worker) -> bool:
    """Whether all processes of the worker on this machine are stopped."""
    return all(all_stopped(one.pid) for pid in pids_here(worker) for one in family(pid))


def epoch_of(worker: Worker, given: Given) -> wire.Fed:
    worker.ask(given.message(), wire.Feeding)
    worker.run(1)
    return worker.ask(wire.AskFed(), wire.Fed)


def works_while_stopped(worker: Worker, folder: Path, asked: Asked, *, depth: int) -> bool:
    """Whether anything reads files while the worker is stopped: only then do they have content "a".

    The pipeline is given more batches than it prepares ahead.
    """
    parts = [asked.epoch("b") for _ in range(depth + 2)]
    given = pixels.Given(
        "b",
        [one for part in parts for one in part.ids],
        [one for part in parts for one in part.boxes],
        [one for part in parts for one in part.flips],
    )
    pixels.write_probes(folder, "b")
    worker.ask(given.message(), wire.Feeding)
    worker.run(1)
    worker.stop()
    # A read already under way ends first. A process that ignores the signal is not waited for.
    wait_until(lambda: at_rest(worker), seconds=STOPPING_SECONDS)
    pixels.write_probes(folder, "a")
    time.sleep(STOPPED_SECONDS)
    pixels.write_probes(folder, "b")
    worker.resume()
    return pixels.stale(given, worker.ask(wire.AskFed(), wire.Fed), other="a")
