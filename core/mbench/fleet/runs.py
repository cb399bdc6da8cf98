"""Reads the nodes of a fleet from folders of mbench's runs."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from mbench.contract.axes import name
from mbench.contract.wire import NUMBERS
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
from mbench.results.changes import BEGUN
from mbench.results.figures import timed_steps
from mbench.results.metrics import chosen_metric, is_trusted, known_metrics
from mbench.results.run import EXPLAIN, file_of, load_run
from mbench.results.seal import examine_file
from mbench.scenarios.find import find_scenarios
from mbench.spec.learning import TRAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.fleet.nodes import Fingerprint
    from mbench.machine.records import System
    from mbench.results import events
    from mbench.results.records import CaseRecord, Process, Run

__all__ = ["node_run", "read_run"]


def read_run(folder: Path, *, metric: str = "") -> NodeRun | None:
    """A run of a node; None for runs of `explain`, `train` and `calibrate`, which measure no node.

    The run has each case's metric of that name, or by default the first of the case's scenario. A
    file that cannot be read, or is incomplete, becomes a run with that problem.
    """
    try:
        run = load_run(folder)
        broken = not_whole(run)
    except MbenchError as error:
        return NodeRun(run=folder.name, problem=str(error))
    if run.protocol.name in (EXPLAIN, TRAIN) or run.header.calibrates:
        return None
    if broken:
        header = run.header
        return NodeRun(run=run.id, started=header.started, host=header.system.hostname,
                       command=command(header), problem=f"{run.id}: {broken}")  # fmt: skip
    return node_run(run, metric=metric)


def not_whole(run: Run) -> str:
    """Why a run's file does not contain everything as it was measured; empty where it does.

    What precedes the damage may look healthy while the node is not: it may have died there.
    """
    if run.damage and not run.cut_off:
        return f"line {run.damage.line} is damaged ({run.damage.why})"
    if run.end is None:
        return "it is incomplete: its file has no end"
    return examine_file(file_of(run.folder)).reason


def command(header: events.Run) -> str:
    """The command to type for another such run."""
    return shlex.join(["mbench", *header.arguments[1:]])


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
        software={"mbench": header.mbench, **system_software(header.system)},
        machine=machine(header.system),
        memory_bytes=header.system.memory_bytes,
        metrics=tuple(known_metrics(record.axes for record in run.cases.values())),
        threads=threads,
        command=command(header),
    )  # fmt: skip


def has_blocks(record: CaseRecord) -> bool:
    return any(process.blocks for process in record.processes.values())


def named_cases(run: Run) -> Mapping[str, CaseRecord]:
    """Every case by a name that is the same on every node.

    The name includes the threads only where they were requested: a node that may use fewer cores
    is still compared with the others, since that is why it is slow.
    """
    asked = any(word.startswith("--threads") for word in run.header.arguments)
    less = () if asked else ("threads",)
    return {
        f"{record.planned.label}: {name(record.axes, less=less)}": record
        for _, record in sorted(run.cases.items())
    }


def system_software(system: System) -> dict[str, str]:
    """The system, its variables that tune workers, and the versions of its drivers."""
    found = {"system": system.os}
    found |= {f"variable {name}": value for name, value in system.variables.items()}
    if drivers := sorted({gpu["driver_version"] for gpu in system.gpus if "driver_version" in gpu}):
        found["driver"] = ", ".join(drivers)
    return found


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
    """The case's results that are the same on every node, from each process that got so far."""
    found: dict[ResultName, list[Fingerprint]] = {}
    moves = updates(record.axes)
    for process in record.processes.values():
        for result, fingerprint in computed_by(process, moves=moves):
            found.setdefault(result, []).append(fingerprint)
    return {result: tuple(prints) for result, prints in found.items()}


def updates(case: Case) -> bool:
    """Whether steps change parameters; assumed where the kind of work is not known."""
    if not is_trusted(case.scenario):
        return True
    try:
        return find_scenarios(case.mode, case.scenario)[0].updates
    except (ImportError, LookupError, AttributeError, TypeError, ValueError):
        return True


def computed_by(process: Process, *, moves: bool) -> Iterator[tuple[ResultName, Fingerprint]]:
    """What one process computed, each result once.

    Where steps update parameters, only the first steps use the same batches in every process:
    later ones depend on how long blocks are. Elsewhere a result depends only on its batch.
    """
    seen: set[tuple[ResultName, Fingerprint]] = set()
    if process.warm.first_loss is not None:
        seen.add((ResultName(step=1, what="loss of the first step"), (process.warm.first_loss,)))
    for what, outputs in process.warm.first_outputs.items():
        seen.add((ResultName(step=0, what=f"{what} of batch 0"), outputs))
    in_turn = [one for _, one in process.evidence if one.batch < NUMBERS]
    for one in in_turn if not moves else ():
        left: dict[str, Fingerprint] = {**one.outputs}
        if one.loss is not None:
            left["loss"] = (one.loss,)
        for what, print_ in left.items():
            seen.add((ResultName(step=one.batch, what=f"{what} of batch {one.batch}"), print_))
    for change in process.changes:
        if change.step <= BEGUN and not change.skipped and not change.data:
            at = f"by step {change.step} through {process.warm.batches} batches"
            for name, print_ in {**change.parameters, **change.statistics}.items():
                seen.add((ResultName(step=change.step, what=f"change of {name} {at}"), print_))
    yield from sorted(seen)


def wrong(record: CaseRecord) -> str:
    """How a case differs from the float64 reference, by a proof made in this run."""
    proof = record.equal_work
    if proof is None or proof.proven or proof.remembered:
        return ""
    return proof.failures[0]
