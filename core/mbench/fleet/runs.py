"""Reads the nodes of a fleet from folders of mbench's runs."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from mbench.contract.axes import name
from mbench.errors import MbenchError
from mbench.fleet.nodes import (
    CASE_FAILED,
    MISSING,
    Computed,
    MetricName,
    NodeRun,
    Reading,
    ResultName,
)
from mbench.results.figures import timed_steps
from mbench.results.metrics import chosen_metric
from mbench.results.run import EXPLAIN, load_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mbench.fleet.nodes import Fingerprint
    from mbench.machine.records import System
    from mbench.results.records import CaseRecord, Process, Run

__all__ = ["node_run", "read_run"]


def read_run(folder: Path, *, metric: str = "") -> NodeRun | None:
    """A run of a node; None for those of `explain` and `calibrate`, which measure no node.

    Of each case it is the metric of that name, or without one the first of its scenario. A file
    that cannot be read is a run with that problem.
    """
    try:
        run = load_run(folder)
    except MbenchError as error:
        return NodeRun(run=folder.name, problem=str(error))
    if run.protocol.name == EXPLAIN or "calibrate" in run.header.arguments:
        return None
    return node_run(run, metric=metric)


def node_run(run: Run, *, metric: str = "") -> NodeRun:
    """A run as a fleet sees it."""
    header, readings, computed, threads = run.header, {}, {}, {}
    for case, record in named_cases(run).items():
        threads[case] = record.axes.threads
        computed[case] = Computed(
            software=software(record), results=results(record), wrong=wrong(record)
        )
        if chosen := chosen_metric(record.axes, metric):
            named = MetricName(case=case, metric=chosen.name)
            steps = timed_steps(record, chosen)
            unit, better = steps.unit, chosen.better
            if record.outcome is not None:
                ended = record.outcome
                readings[named] = Reading(unit=unit, better=better, problem=CASE_FAILED,
                                          reason=f"{ended.outcome}: {ended.reason}")  # fmt: skip
            elif steps.processes:
                readings[named] = Reading.of(steps.processes, unit=unit, better=better)
            else:
                reason = steps.lacking(record.axes.mode) if has_blocks(record) else "not measured"
                readings[named] = Reading(unit=unit, better=better, problem=MISSING, reason=reason)
    return NodeRun(
        run=run.id,
        started=header.started,
        host=header.system.hostname,
        readings=readings,
        computed=computed,
        software={"mbench": header.mbench, "system": header.system.os,
                  **{f"variable {name}": value
                     for name, value in header.system.variables.items()}},
        machine=machine(header.system),
        memory_bytes=header.system.memory_bytes,
        threads=threads,
        command=shlex.join(["mbench", *header.arguments[1:]]),
    )  # fmt: skip


def has_blocks(record: CaseRecord) -> bool:
    return any(process.blocks for process in record.processes.values())


def named_cases(run: Run) -> Mapping[str, CaseRecord]:
    """Every case by what it is, the same on every node.

    The threads are part of that only where they were asked for: a node that may use fewer cores
    is compared with the others, since that is why it is slow.
    """
    asked = any(word.startswith("--threads") for word in run.header.arguments)
    less = () if asked else ("threads",)
    return {
        f"{record.planned.label}: {name(record.axes, less=less)}": record
        for _, record in sorted(run.cases.items())
    }


def machine(system: System) -> dict[str, str]:
    """What makes machines alike."""
    devices = Counter(gpu.get("name", "unknown device") for gpu in system.gpus)
    return {
        "processor": system.cpu,
        "cores": str(system.physical_cores),
        "hardware threads": str(system.logical_cores),
        "devices": ", ".join(f"{n} x {device}" for device, n in sorted(devices.items())) or "none",
    }


def software(record: CaseRecord) -> dict[str, str]:
    """Versions and settings of a case alone."""
    framework, found = record.planned.framework, {}
    if record.environment:
        found["Python"] = record.environment.python_version
    if info := record.info:
        found[framework] = info.version
        found |= {f"{framework}: {name}": text for name, text in info.versions.items()}
        found |= {f"{framework}: {name}": text for name, text in info.details.items()}
    return found


def results(record: CaseRecord) -> dict[ResultName, tuple[Fingerprint, ...]]:
    """What the case computed after steps that every process takes from the same parameters."""
    found: dict[ResultName, list[Fingerprint]] = {}
    for process in record.processes.values():
        for result, fingerprint in computed_by(process):
            found.setdefault(result, []).append(fingerprint)
    return {result: tuple(prints) for result, prints in found.items()}


def computed_by(process: Process) -> Iterator[tuple[ResultName, Fingerprint]]:
    """What one process computed, each result once.

    Where steps update parameters, it is told apart by the steps so far, else by the batch alone.
    """
    moves = bool(process.changes)
    if process.warm.first_loss is not None:
        yield ResultName(step=1, what="loss of the first step"), (process.warm.first_loss,)
    seen = set()
    for _, one in process.evidence:
        at = f"step {one.step}, batch {one.batch}" if moves else f"batch {one.batch}"
        number = one.step if moves else one.batch
        left: dict[str, Fingerprint] = {f"{output} of {at}": sketch
                                        for output, sketch in one.outputs.items()}  # fmt: skip
        if one.loss is not None:
            left[f"loss of {at}"] = (one.loss,)
        for what, print_ in left.items():
            seen.add((ResultName(step=number, what=what), print_))
    for change in process.changes:
        kept = {f"change of {name}": sketch for name, sketch in change.parameters.items()}
        kept |= {f"change of {name}": sketch for name, sketch in change.statistics.items()}
        for what, print_ in kept.items():
            seen.add((ResultName(step=change.step, what=f"{what} by step {change.step}"), print_))
    yield from sorted(seen)


def wrong(record: CaseRecord) -> str:
    """How a case differs from the reference in float64, by a proof that was made in this run."""
    proof = record.equal_work
    if proof is None or proof.proven or proof.remembered:
        return ""
    return proof.failures[0]
