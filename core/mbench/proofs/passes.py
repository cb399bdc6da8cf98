"""What the passes in float64 and as timed have in common, and how phases of a training step are
compared with the reference of the whole step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from mbench.contract import wire
from mbench.contract.scenario import GRADIENTS
from mbench.contract.sketch import sketch
from mbench.contract.wire import StepEvidence
from mbench.proofs import judge
from mbench.proofs.changes import CLIP_EPSILON, judge_changes, judge_rule
from mbench.proofs.exchange import judge_ranks
from mbench.proofs.judge import CheckResult, distance, first, relative, worst
from mbench.proofs.reference import PLAIN_RATE, SEEDS, batch_of, scales
from mbench.proofs.tolerances import EXACT
from mbench.scenarios.find import in_mode, resolve
from mbench.workloads.operators.collectives import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload
    from mbench.proofs.observer import Observer
    from mbench.proofs.reference import Trajectory
    from mbench.proofs.tolerances import ChangeGates
    from mbench.workloads.operators.collectives import Collective
    from mbench.workloads.operators.updates import Updated

__all__ = ["collective_pass", "judge_phase", "judge_seeds", "judged_phase", "update_pass"]

LOSS = "loss"


def judge_phase(
    step: StepEvidence,
    expected: Trajectory,
    workload: Workload,
    *,
    phase: str,
    backward: bool,
    clip_norm: float | None,
    gate: float,
    gates: ChangeGates | None = None,
) -> Iterator[CheckResult]:
    """The loss, and after a backward pass the gradients: in float64, or within `gates` as timed.

    `expected` is the reference's single step of plain descent, clipped by `clip_norm`.
    """
    check = "loss" if gates is None else "timed"
    trained = [tensor.name for tensor in workload.tensors() if tensor.trainable]
    names = {LOSS, *(trained if backward else [])}
    if set(step.outputs) != names:
        odd = ", ".join(sorted(set(step.outputs) ^ names)[:3])
        yield CheckResult(
            check, math.inf, gate, f"{phase} has missing or unexpected outputs: {odd}"
        )
        return
    due = np.array(sketch(LOSS, np.array(expected.losses[0])))
    yield CheckResult(
        check, relative(distance(np.array(step.outputs[LOSS]), due), due), gate, f"loss of {phase}"
    )
    if not backward:
        return
    changes = descended(step, workload, trained, clip_norm=clip_norm)
    if gates is not None:
        yield from judge_changes(
            changes, expected.tensors, workload,
            gates=replace(gates, statistics=None), check="gradients",
        )  # fmt: skip
        return
    scale = scales(expected.tensors, workload)
    errors = {}
    for tensor, wanted, size in zip(workload.tensors(), expected.tensors, scale, strict=True):
        if tensor.trainable:
            gap = distance(np.array(changes.parameters[tensor.name]), wanted)
            errors[f"gradient by {tensor.name}"] = gap / float(size)
    found = worst("updates", errors, EXACT)
    # Errors spread; the first large one is their origin.
    yield (
        found
        if found.passed
        else replace(first("updates", errors, max(EXACT, 0.01 * max(errors.values()))), gate=EXACT)
    )


def descended(
    step: StepEvidence, workload: Workload, trained: list[str], *, clip_norm: float | None
) -> StepEvidence:
    """The changes that one step of plain descent, with clipping, would make with these gradients.

    Tensors without a gradient do not change.
    """
    factor = 1.0
    if clip_norm is not None:
        norm = math.sqrt(sum(step.outputs[name][0] ** 2 for name in trained))
        factor = min(1.0, clip_norm / (norm + CLIP_EPSILON))
    parameters = {tensor.name: [0.0] * 6 for tensor in workload.tensors()}
    for name in trained:
        size, *sums = step.outputs[name]
        rate = PLAIN_RATE * factor
        parameters[name] = [rate * size, *(-rate * one for one in sums)]
    return StepEvidence(loss=None, outputs={}, parameters=parameters)


def judge_seeds(
    observer: Observer, seen: list[wire.Observation], *, gate: float, check: str
) -> Iterator[judge.CheckResult]:
    """Outputs for each set of parameters."""
    for number, (seed, observation) in enumerate(zip(SEEDS, seen, strict=True)):
        expected = observer.known.outputs[seed]
        finding = judge.judge_outputs(observation, expected, gate=gate, check=check)
        if number and not finding.passed and observation.steps == seen[0].steps:
            finding = replace(finding, note="they do not depend on the parameters: a cached result")
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
    """Each rank's results for two different batches: a cached result would be the other batch's."""
    observer.report(f"proving {observer.subject} with {case.devices} processes in {case.precision}")
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
    """Consecutive steps with given gradients, for two sets of parameters."""
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
