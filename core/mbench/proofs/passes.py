"""What passes in float64 and as timed have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mbench.contract import wire
from mbench.contract.scenario import GRADIENTS
from mbench.proofs import judge
from mbench.proofs.changes import judge_rule
from mbench.proofs.exchange import judge_ranks
from mbench.proofs.phases import judge_phase
from mbench.proofs.reference import SEEDS, batch_of
from mbench.scenarios.find import in_mode, resolve
from mbench.workloads.operators.collectives import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.proofs.observer import Observer
    from mbench.proofs.tolerances import ChangeGates
    from mbench.workloads.operators.collectives import Collective
    from mbench.workloads.operators.updates import Updated

__all__ = ["collective_pass", "judge_seeds", "judged_phase", "update_pass"]


def judge_seeds(
    observer: Observer, seen: list[wire.Observation], *, gate: float, check: str
) -> Iterator[judge.CheckResult]:
    """Outputs for each set of parameters."""
    for number, (seed, observation) in enumerate(zip(SEEDS, seen, strict=True)):
        expected = observer.known.outputs[seed]
        finding = judge.judge_outputs(observation, expected, gate=gate, check=check)
        if number and not finding.passed and observation.steps == seen[0].steps:
            finding = replace(finding, note="they do not follow the parameters: a kept result")
        yield finding


def judged_phase(
    observer: Observer, seen: wire.Observation, *, gate: float, gates: ChangeGates | None = None
) -> Iterator[judge.CheckResult]:
    whole = resolve(in_mode(observer.timed, "train"))
    return judge_phase(
        seen.steps[-1], observer.reference.plain, observer.workload, phase=observer.timed.mode,
        backward=observer.scenario.proof == GRADIENTS,
        clip_norm=whole.optimizer.clip_norm, gate=gate, gates=gates,
    )  # fmt: skip


def collective_pass(observer: Observer, case: Case, *, check: str) -> Iterator[judge.CheckResult]:
    """What every rank gets, of two batches in turn: a kept answer is that of the other."""
    observer.report(f"proving {observer.subject} by {case.devices} processes in {case.precision}")
    config = cast("Collective", resolve(case).config)
    with observer.worker(
        case, observer.log.with_stem(f"{observer.log.stem}-{case.precision}")
    ) as worker:
        worker.prepare(case, load=False)
        for batch in SEEDS:
            message = wire.Observe(seed=0, steps=1, batch=batch)
            seen = worker.ask_all(message, wire.Observation)
            yield from judge_ranks(seen, answers(config, batch), check=check)


def update_pass(observer: Observer, case: Case, *, check: str) -> Iterator[judge.CheckResult]:
    """Steps by given gradients, in turn, of two sets of parameters."""
    observer.report(f"proving {observer.subject} in {case.precision} under {case.compiler}")
    workload = cast("Updated", resolve(case, observer.work))
    with observer.worker(
        case, observer.log.with_stem(f"{observer.log.stem}-{case.precision}")
    ) as worker:
        seen = observer.observe(worker, case, seeds=SEEDS, in_turn=True)
    yield judge.judge_parameters(seen[0], workload)
    for seed, one in zip(SEEDS, seen, strict=True):
        yield judge_rule(
            one.steps, workload,
            precision=case.precision, seed=batch_of(seed), parameters=seed, check=check,
        )  # fmt: skip
