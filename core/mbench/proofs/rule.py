"""The update rules as workloads state them, in float64, held against a framework's own kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.sketch import sketch
from mbench.proofs.judge import CheckResult, worst
from mbench.proofs.tolerances import EXACT, ROUNDED_BETA, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.wire import StepEvidence
    from mbench.workloads.given import GivenWorkload
    from mbench.workloads.operators.updates import Updated
    from mbench.workloads.workload import Optimizer

    Arrays = Mapping[str, np.ndarray]

__all__ = ["CLIP_EPSILON", "RULE_RATE", "judge_rule", "updated"]

RULE_RATE = 4.0
"""Updates are larger than parameters, so that these do not round them away in half precision."""
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
    """The changes since the start after each step, on the batches in turn: `seed` is that of the
    first, `parameters` that of what they start from.
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
