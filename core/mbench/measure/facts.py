"""What is written down of a case, beside what is timed: as events of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract.axes import BACKWARD, FORWARD
from mbench.contract.precision import PRECISIONS
from mbench.engine.worker import nodes_of
from mbench.proofs.tolerances import (
    CHANGED,
    DROPPED,
    DROPPED_GROWTH,
    DROPPED_NORM,
    DROPPED_TENSOR,
    GROWTH,
    STATISTICS,
    TIMED,
    TIMED_DRIFT,
)
from mbench.results import events
from mbench.results.calibration import recall
from mbench.results.evidence import Gates
from mbench.results.identity import planned_identity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case
    from mbench.engine.outcome import CaseEnded
    from mbench.environments.environment import Environment
    from mbench.machine.records import System
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Comparison, Entry

__all__ = ["cases", "draws_masks", "environment", "framework", "gates", "nodes", "outcome"]

UNSEEN = CHANGED["bf16"]
"""Of a precision in which changes are not compared."""


def cases(comparison: Comparison) -> Iterator[events.Case]:
    """The cases of a comparison in which nothing is open any more."""
    for entry in comparison.entries:
        workload = entry.case.resolve()
        elements, share = workload.exchanged() or (None, None)
        width = PRECISIONS[entry.case.precision].parameter_bytes
        yield events.Case(
            case=entry.number,
            comparison=comparison.number,
            label=entry.label,
            framework=entry.spec.name,
            framework_title=entry.adapter.title,
            spec=entry.spec.text,
            axes=entry.case,
            own_compiler=entry.own_compiler,
            samples=workload.samples,
            flops_per_sample=flops(entry.case),
            bytes_per_sample=workload.moved_bytes(entry.case.mode, number_bytes=width),
            message_bytes=None if elements is None else width * elements,
            bus_share=share,
            standard=workload.is_standard(),
            gates=gates(entry.case),
        )


def flops(case: Case) -> float:
    """Of one sample's step, as far as it goes."""
    return case.resolve().flops("inference" if case.phase == FORWARD else case.mode)


def gates(case: Case) -> Gates:
    """How far what is timed may lie apart, of two frameworks or of one in two processes."""
    training = case.updates
    workload, drawn = case.resolve(), draws_masks(case)
    norm, direction = CHANGED.get(case.precision, (None, None)) if training else (None, None)
    shows = training and case.precision in STATISTICS
    answers = DROPPED if training and drawn else TIMED[case.precision]
    if case.phase == BACKWARD:  # all gradients together are among its answers
        answers = max(answers, CHANGED.get(case.precision, UNSEEN)[1])
    return Gates(
        answers=answers,
        means=TIMED[case.precision] if training and drawn else None,
        drift=TIMED_DRIFT,
        norm=norm if norm is None or not drawn else max(norm, DROPPED_NORM[case.precision]),
        tensor=DROPPED_TENSOR if shows and drawn and workload.optimizer.rule == "adamw" else None,
        direction=None if drawn else direction,
        statistics=STATISTICS[case.precision] if shows and not drawn else None,
        growth=(DROPPED_GROWTH if drawn else GROWTH) if shows else None,
    )


def draws_masks(case: Case) -> bool:
    """Whether a training step has masks, which each process draws by itself."""
    return case.resolve().config != replace(case, dropout=False).resolve().config


def environment(entry: Entry, found: Environment) -> events.Environment:
    return events.Environment(
        case=entry.number,
        python=str(found.python),
        python_version=found.python_version,
        managed=found.managed,
        digest=found.digest,
        packages=dict(found.packages),
    )


def framework(entry: Entry, info: FrameworkInfo, system: System) -> Iterator[events.OfCase]:
    """What a worker found, and what is known of this machine's noise in the case."""
    yield events.Framework(case=entry.number, **vars(info))
    identity = planned_identity(
        entry.case, framework=entry.spec.name, version=info.version, system=system
    )
    if known := recall(identity):
        yield events.Calibration(case=entry.number, **vars(known))


def nodes(entry: Entry, worker: Worker) -> Iterator[events.Node]:
    """The machines of a case, where they are not this one."""
    for node in nodes_of(worker):
        ranks = [at for at, one in enumerate(worker.processes) if one.host == node.host]
        system = node.here.machine.system
        yield events.Node(case=entry.number, host=node.host, ranks=ranks, system=system)


def outcome(entry: Entry, end: CaseEnded) -> events.Outcome:
    return events.Outcome(
        case=entry.number,
        outcome=end.outcome,
        reason=end.reason,
        log=str(end.log) if end.log else None,
    )
