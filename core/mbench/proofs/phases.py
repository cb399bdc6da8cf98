"""Holds what the phases of a training step put out against the reference of the whole step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.sketch import sketch
from mbench.contract.wire import StepEvidence
from mbench.proofs.changes import CLIP_EPSILON, judge_changes
from mbench.proofs.judge import CheckResult, distance, first, relative, worst
from mbench.proofs.reference import PLAIN_RATE, scales
from mbench.proofs.tolerances import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import Workload
    from mbench.proofs.reference import Trajectory
    from mbench.proofs.tolerances import ChangeGates

__all__ = ["judge_phase"]

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

    `expected` is one step of bare descent, clipped by `clip_norm`, as the reference has it.
    """
    check = "loss" if gates is None else "timed"
    trained = [tensor.name for tensor in workload.tensors() if tensor.trainable]
    names = {LOSS, *(trained if backward else [])}
    if set(step.outputs) != names:
        odd = ", ".join(sorted(set(step.outputs) ^ names)[:3])
        yield CheckResult(
            check, math.inf, gate, f"a phase that is {phase} lacks, or has besides: {odd}"
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
    # Errors spread; the first that is large is where they come from.
    yield (
        found
        if found.passed
        else replace(first("updates", errors, max(EXACT, 0.01 * max(errors.values()))), gate=EXACT)
    )


def descended(
    step: StepEvidence, workload: Workload, trained: list[str], *, clip_norm: float | None
) -> StepEvidence:
    """What one step of bare descent, and clipping, would make of these gradients.

    Of tensors that have none, no change.
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
