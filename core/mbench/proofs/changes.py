"""Holds what a step changes in the timed precision against the float64 reference: every tensor by
its norm, and depths of the model by direction, as rounding lets them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbench.proofs.judge import CheckResult, first, worst
from mbench.proofs.reference import scales

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.wire import StepEvidence
    from mbench.proofs.tolerances import ChangeGates
    from mbench.workloads.workload import Workload

__all__ = ["judge_changes", "visible_rate"]

DEPTHS = 8
"""Parts, by depth, whose directions are held against the reference's. Of a single tensor, rounding
may make any direction; of an eighth of all tensors it does not."""
SMALLEST = 1e-300
TIMES = 4.0
"""The norm of a visible step, by that of the parameters: what is left of them in half precision
does not hide it."""


def visible_rate(workload: Workload, gradients: np.ndarray, rate: float) -> float:
    """The rate at which a step of bare descent shows in every precision.

    `gradients` (T, 6) are the reference's changes at `rate`.
    """
    trained = [at for at, tensor in enumerate(workload.tensors()) if tensor.trainable]
    tensors = [workload.tensors()[at] for at in trained]
    squares = sum(t.size * (t.scale**2 / 3 + t.center**2) for t in tensors)  # drawn evenly
    return rate * TIMES * math.sqrt(squares) / float(np.linalg.norm(gradients[trained, 0]))


def judge_changes(
    found: StepEvidence,
    expected: np.ndarray,
    workload: Workload,
    *,
    gates: ChangeGates,
    check: str,
    factor: float = 1.0,
) -> Iterator[CheckResult]:
    """Findings on the changes of all tensors, by norm and by direction, and on statistics.

    `expected` (T, 6) are the reference's sketches, those of parameters `factor` times smaller.
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
