"""Judges updates: changes of tensors in the timed precision, update rules, and dropout masks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.sketch import sketch
from mbench.proofs.judge import CheckResult, first, worst
from mbench.proofs.reference import scales
from mbench.proofs.tolerances import EXACT, MASKED, MASKED_ERRORS, ROUNDED_BETA, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.wire import StepEvidence
    from mbench.contract.workload import Optimizer, Workload
    from mbench.proofs.tolerances import ChangeGates
    from mbench.workloads.given import GivenWorkload
    from mbench.workloads.operators.updates import Updated

    Arrays = Mapping[str, np.ndarray]

__all__ = [
    "CLIP_EPSILON",
    "RULE_RATE",
    "judge_changes",
    "judge_masks",
    "judge_rule",
    "updated",
    "visible_rate",
]


DEPTHS = 8
"""Number of parts, by depth, whose directions are compared with the reference's. Rounding may turn
the change of a single tensor in any direction, but not that of an eighth of all tensors."""
SMALLEST = 1e-300
TIMES = 4.0
"""The norm of a visible step relative to that of the parameters, large enough that half precision
does not hide it."""


def visible_rate(workload: Workload, gradients: np.ndarray, rate: float) -> float:
    """The rate at which a step of plain descent is visible in every precision.

    `gradients` (T, 6) are the reference's changes at `rate`.
    """
    trained = [at for at, tensor in enumerate(workload.tensors()) if tensor.trainable]
    tensors = [workload.tensors()[at] for at in trained]
    held = math.hypot(*(tensor.initial_norm for tensor in tensors))
    return rate * TIMES * held / float(np.linalg.norm(gradients[trained, 0]))


def judge_changes(
    found: StepEvidence,
    expected: np.ndarray,
    workload: Workload,
    *,
    gates: ChangeGates,
    check: str,
    factor: float = 1.0,
) -> Iterator[CheckResult]:
    """Checks of the changes of all tensors, by norm and by direction, and of statistics.

    `expected` (T, 6) are the reference's sketches; parameters should change by `factor` times that.
    """
    tensors = workload.tensors()
    trainable = np.array([tensor.trainable for tensor in tensors])
    names = np.array([tensor.name for tensor in tensors])
    due = expected.copy()
    due[trainable] *= factor
    seen = np.array([found.parameters[name] for name in names])
    gaps = np.linalg.norm(seen[:, 1:] - due[:, 1:], axis=1)
    scale = scales(due, workload)

    if gates.short is not None:
        short = np.maximum(due[:, 0] - seen[:, 0], 0) / scale
        errors = {f"change of {names[at]}": float(short[at]) for at in trainable.nonzero()[0]}
        finding = first(check, errors, gates.short)
        still = sum(error > 0.99 for error in errors.values())
        said = f"{still} of {len(errors)} tensors hardly change" if still else "it is too small"
        yield finding if finding.passed else replace(finding, note=said)

    shorter, longer, directions = {}, {}, {}
    for part in np.array_split(trainable.nonzero()[0], DEPTHS):
        if part.size:
            name = f"changes from {names[part[0]]} to {names[part[-1]]}"
            wanted = max(float(np.linalg.norm(due[part, 0])), SMALLEST)
            size = float(np.linalg.norm(seen[part, 0])) / wanted
            shorter[f"size of the {name}"] = max(1 - size, 0.0)
            longer[f"size of the {name}"] = max(size - 1, 0.0)
            directions[f"direction of the {name}"] = float(np.linalg.norm(gaps[part])) / wanted
    yield worst(check, shorter, gates.shorter)
    yield worst(check, longer, gates.longer)
    if gates.direction is not None:
        yield worst(check, directions, gates.direction)
    others = ~trainable
    if gates.statistics is not None and others.any():
        error = np.linalg.norm(gaps[others]) / max(np.linalg.norm(due[others, 0]), SMALLEST)
        yield CheckResult(check, float(error), gates.statistics, "running statistics")


def judge_masks(
    one: StepEvidence, other: StepEvidence, rates: Mapping[str, float]
) -> Iterator[CheckResult]:
    """A check of each rate, over all tensors that have it; `rates` is by the name of the tensor.

    Each draw drops a share p of the units that are not zero anyway. One draw shows 1 - p of them,
    and both together show 1 - p^2, so the quotient is 1 + p.
    """
    for rate in sorted(set(rates.values())):
        names = [name for name in rates if rates[name] == rate]
        first, second = ("".join(step.moved[name] for name in names) for step in (one, other))
        shown = (first.count("1") + second.count("1")) / 2
        either = sum("1" in pair for pair in zip(first, second, strict=True))
        if not shown:
            yield CheckResult("masks", math.inf, 0.0, f"all of {names[0]} is dropped")
            continue
        share = either / shown - 1
        scatter = math.sqrt((rate**2 + rate * (1 - rate) / 2) / max(shown / (1 - rate), 1))
        gate = MASKED_ERRORS * scatter + MASKED
        where = f"{share:.3g} dropped before or after {names[0]} instead of {rate:g}:"
        yield CheckResult("masks", abs(share - rate), gate, where)


RULE_RATE = 4.0
"""Learning rate at which updates are larger than parameters, so that half precision does not round
them away."""
CLIP_EPSILON = 1e-6


def updated(
    rule: Optimizer, weights: Arrays, decays: Mapping[str, float], gradients: Sequence[Arrays]
) -> Iterator[dict[str, np.ndarray]]:
    """The weights after each step; see Optimizer for the rules. All in float64."""
    now = {name: array.astype(np.float64) for name, array in weights.items()}
    slow = {name: np.zeros_like(array) for name, array in now.items()}
    square = {name: np.zeros_like(array) for name, array in now.items()}
    rate, (first, second) = rule.learning_rate, rule.betas
    for step, given in enumerate(gradients, start=1):
        factor = 1.0
        if rule.clip_norm is not None:
            norm = np.sqrt(sum(float(np.sum(array**2)) for array in given.values()))
            factor = min(1.0, rule.clip_norm / (norm + CLIP_EPSILON))
        for name, gradient in ((name, factor * array) for name, array in given.items()):
            weight = now[name]
            if rule.rule == "sgd":
                slow[name] = rule.momentum * slow[name] + gradient + decays[name] * weight
                now[name] = weight - rate * slow[name]
            else:
                slow[name] = first * slow[name] + (1 - first) * gradient
                square[name] = second * square[name] + (1 - second) * gradient**2
                mean, spread = slow[name] / (1 - first**step), square[name] / (1 - second**step)
                weight = weight - rate * decays[name] * weight
                now[name] = weight - rate * mean / (np.sqrt(spread) + rule.epsilon)
        yield dict(now)


def judge_rule(
    steps: Sequence[StepEvidence],
    workload: GivenWorkload | Updated,
    *,
    precision: str,
    seed: int,
    parameters: int = 0,
    check: str = "rule",
) -> CheckResult:
    """Checks the changes since the start after each step, on consecutive batches. `seed` is the
    first batch's seed, `parameters` that of the initial parameters.
    """
    weights = dict(workload.parameters(seed=parameters))
    decay = workload.optimizer.weight_decay
    decays = {tensor.name: decay * tensor.decay for tensor in workload.tensors()}
    gradients = [workload.gradients(seed=seed + at) for at in range(len(steps))]
    errors = {}
    for at, (step, now) in enumerate(
        zip(steps, updated(workload.optimizer, weights, decays, gradients), strict=True), start=1
    ):
        for name, array in now.items():
            due = np.array(sketch(name, array, start=weights[name]))
            found = np.array(step.parameters[name])
            error = np.linalg.norm(found[1:] - due[1:]) / due[0]
            errors[f"change of {name} after step {at}"] = float(error)
    return worst(check, errors, gate_of(workload.optimizer, precision))


def gate_of(rule: Optimizer, precision: str) -> float:
    if precision == "fp64":
        return EXACT
    rounded = ROUNDED_BETA / (1 - rule.betas[1]) / 2 if rule.rule == "adamw" else 0.0
    return RULE[precision] + rounded
