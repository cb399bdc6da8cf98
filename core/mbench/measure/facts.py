"""The events that describe a case: its axes, gates, environment, framework, outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from mbench.contract.device import warn
from mbench.contract.scenario import GRADIENTS, OUTPUTS
from mbench.contract.worker_state import StateRecord
from mbench.engine.worker import nodes_of
from mbench.proofs.tolerances import (
    CHANGED,
    DROPPED,
    DROPPED_GROWTH,
    DROPPED_NORM,
    DROPPED_TENSOR,
    GROWTH,
    MOST_ANSWERS,
    PHASES,
    STATISTICS,
    TIMED,
    TIMED_DRIFT,
    TIMED_LOSSES,
    TIMED_OUTPUTS,
)
from mbench.results import events
from mbench.results.calibration import recall
from mbench.results.evidence import Gates
from mbench.results.identity import planned_identity
from mbench.scenarios.find import resolve, scenario_of, work_of
from mbench.workloads.operators import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract import wire
    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case
    from mbench.contract.device import Check
    from mbench.engine.outcome import CaseEnded
    from mbench.environments.environment import Environment
    from mbench.machine.records import System
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Comparison, Entry

__all__ = [
    "cases",
    "draws_masks",
    "environment",
    "framework",
    "gates",
    "nodes",
    "one_machine",
    "outcome",
    "peak_bytes",
    "worker_states",
]


def cases(comparison: Comparison) -> Iterator[events.Case]:
    """The cases of a comparison in which nothing is left open."""
    for entry in comparison.entries:
        work = work_of(entry.case)
        yield events.Case(
            case=entry.number,
            comparison=comparison.number,
            label=entry.label,
            framework=entry.spec.name,
            framework_title=entry.adapter.title,
            distribution=getattr(entry.adapter, "distribution", ""),
            spec=entry.spec.text,
            axes=entry.case,
            own_compiler=entry.own_compiler,
            samples=work.workload.samples,
            samples_per_item=work.samples_per_item,
            flops_per_sample=work.flops_per_sample / work.samples_per_item,
            masked_flops_per_sample=work.masked_flops_per_sample / work.samples_per_item,
            read_bytes_per_step=work.read_bytes_per_step,
            bytes_per_sample=work.bytes_per_sample,
            message_bytes=work.message_bytes,
            bus_share=work.bus_share,
            standard=work.workload.is_standard(),
            gates=gates(entry.case),
        )


def gates(case: Case) -> Gates:
    """How much timed results may differ between frameworks, or between one's processes."""
    scenario = scenario_of(case)
    training = scenario.updates
    workload, drawn = resolve(case), draws_masks(case)
    norm, direction = CHANGED.get(case.precision, (None, None)) if training else (None, None)
    shows = training and case.precision in STATISTICS
    answers = DROPPED if training and drawn else TIMED[case.precision]
    widest = None
    if scenario.proof == GRADIENTS:  # its answers include the gradients
        answers = max(answers, PHASES[case.precision])
    elif norm is not None and not drawn:
        answers, widest = TIMED_LOSSES[case.precision], MOST_ANSWERS
    elif norm is not None:
        widest = MOST_ANSWERS
    elif scenario.proof == OUTPUTS and not isinstance(workload, Operator):
        answers, widest = TIMED_OUTPUTS[case.precision], TIMED[case.precision]
    return Gates(
        answers=answers,
        widest=widest,
        means=TIMED[case.precision] if training and drawn else None,
        drift=TIMED_DRIFT,
        norm=norm if norm is None or not drawn else max(norm, DROPPED_NORM[case.precision]),
        tensor=DROPPED_TENSOR if shows and drawn and workload.optimizer.rule == "adamw" else None,
        direction=None if drawn else direction,
        statistics=STATISTICS[case.precision] if shows and not drawn else None,
        growth=(DROPPED_GROWTH if drawn else GROWTH) if shows else None,
    )


def draws_masks(case: Case) -> bool:
    """Whether a training step uses random masks, which each process draws independently."""
    return resolve(case).config != resolve(replace(case, dropout=False)).config


def environment(entry: Entry, found: Environment) -> events.Environment:
    return events.Environment(
        case=entry.number,
        python=str(found.python),
        python_version=found.python_version,
        managed=found.managed,
        digest=found.digest,
        packages=dict(found.packages),
        digests=dict(found.digests),
        installed=digest_of(found),
    )


def digest_of(found: Environment) -> str:
    """A digest of the versions and files of all installed distributions."""
    whole = json.dumps([sorted(found.packages.items()), sorted(found.digests.items())])
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def worker_states(
    entry: Entry, process: int, worker: Worker, environment: Environment
) -> Iterator[events.WorkerState]:
    """What each rank of a process reported about itself beyond what its environment says."""
    names = [one.name for one in fields(StateRecord)]
    for rank, (state, at) in enumerate(zip(worker.states, worker.processes, strict=False)):
        known = environment.packages
        yield events.WorkerState(
            case=entry.number,
            process=process,
            rank=rank,
            host=at.host,
            packages={
                name: state.packages.get(name, "")
                for name in sorted({*known, *state.packages})
                if known.get(name) != state.packages.get(name)
            },
            **{name: getattr(state, name) for name in names},
        )


def framework(entry: Entry, info: FrameworkInfo, system: System) -> Iterator[events.OfCase]:
    """A worker's description of its framework, and the case's calibration on this machine."""
    yield events.Framework(case=entry.number, **vars(info))
    identity = planned_identity(
        entry.case, framework=entry.spec.name, version=info.version, system=system
    )
    if known := recall(identity):
        yield events.Calibration(case=entry.number, **vars(known))


def nodes(entry: Entry, worker: Worker) -> Iterator[events.Node]:
    """The machines of a case other than this one."""
    for node in nodes_of(worker):
        ranks = [at for at, one in enumerate(worker.processes) if one.host == node.host]
        system = node.here.machine.system
        yield events.Node(case=entry.number, host=node.host, ranks=ranks, system=system)


def one_machine(worker: Worker) -> Check | None:
    """A warning about hosts that are one machine under several names; None if all are distinct."""
    hosts: dict[str, dict[str, None]] = {}
    for state, process in zip(worker.states, worker.processes, strict=False):
        if state.boot_id:
            hosts.setdefault(state.boot_id, {})[process.host or "this machine"] = None
    for names in hosts.values():
        if len(names) > 1:
            return warn("nodes", f"{' and '.join(names)} are one machine, started once",
                        "list each machine only once in --hosts")  # fmt: skip
    return None


def outcome(entry: Entry, end: CaseEnded) -> events.Outcome:
    return events.Outcome(
        case=entry.number,
        outcome=end.outcome,
        reason=end.reason,
        log=str(end.log) if end.log else None,
    )


def peak_bytes(used: Sequence[wire.MemoryUsed]) -> int | None:
    """The largest peak of several processes; None if the framework does not report it."""
    known = [one.peak_bytes for one in used if one.peak_bytes is not None]
    return max(known, default=None)
