"""Judges evidence against the reference: one result per check, with its worst or first culprit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from mbench.contract.quantized import digest, integers_of, linear_weights
from mbench.contract.sketch import signs_of, sketch
from mbench.proofs.reference import rounding, scales, trajectory
from mbench.proofs.tolerances import DROPOUT, EXACT, FLOPS, SHOWN_TOGETHER, TIMED
from mbench.results.proof import PROVEN, FindingRecord, ProofRecord
from mbench.scenarios.find import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.wire import Observation, Seen
    from mbench.contract.workload import Workload
    from mbench.proofs.reference import Trajectory
    from mbench.workloads.operators import Operator

__all__ = [
    "CHECKS",
    "IN_FLOAT64",
    "CheckResult",
    "Proof",
    "judge_along",
    "judge_dropout",
    "judge_flops",
    "judge_integers",
    "judge_losses",
    "judge_outputs",
    "judge_parameters",
    "judge_shapes",
    "judge_shown",
    "judge_trajectory",
]


CHECKS = {
    "parameters": "names, shapes and number of parameters are the workload's",
    "outputs": "evaluation outputs in float64, for two sets of parameters",
    "loss": "loss of each training step in float64",
    "updates": "change of every tensor by plain gradient descent: the gradient, clipping included",
    "optimizer": "change of every tensor by the workload's own optimizer",
    "flops": "forward FLOPs by the framework's own counter",
    "integers": "in int8, the integers and scales of every linear layer, exactly",
    "timed": "outputs and losses in the precision and under the compiler that is timed",
    "gradients": "change of every tensor by plain gradient descent in the precision that is timed",
    "steps": "change of every tensor by the optimizer as it is timed",
    "rule": "the timed optimizer's arithmetic on given gradients",
    "masks": "the share of units that dropout drops",
    "dropout": "dropout is active in what is timed",
    "exchange": "processes that train together update by the mean of all ranks' gradients",
    "shown": "where there is no float64, outputs in fp32, for twenty sets of parameters",
}
IN_FLOAT64 = ("outputs", "loss", "updates", "optimizer")
"""The checks in float64; gates of the other checks are wider by orders of magnitude."""


ROUNDED = 4.0
"""Two changes may differ by this many times the effect of float64's rounding of the parameter:
both are rounded, and their distance is estimated by a sketch."""


@dataclass(frozen=True)
class CheckResult:
    """One check: the largest relative error, where it is, and the gate. `error` is None if the
    check was not made.
    """

    check: str
    error: float | None
    gate: float
    where: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.error is None or self.error <= self.gate

    def record(self) -> FindingRecord:
        """The check as a record. Strict JSON has no infinity, so an infinite error is None, as is
        that of a check that was not made, which passes.
        """
        finite = self.error is not None and math.isfinite(self.error)
        known = {**vars(self), "error": self.error if finite else None}
        return FindingRecord(**known, passed=self.passed)

    def __str__(self) -> str:
        if self.error == math.inf:
            return f"{self.check}: {self.where.rstrip(':,')}"
        if self.error is None:
            return f"{self.check}: {self.note}"
        what = f"{self.check}: {self.where} off by {self.error:.2g} (gate {self.gate:.2g})"
        return f"{what}; {self.note}" if self.note else what


@dataclass(frozen=True)
class Proof:
    """All checks of one case; `notes` say what was proven in an unusual way.

    `version` is the framework's, as its worker reported it; `grade` is the strength of the proof.
    """

    findings: list[CheckResult]
    notes: list[str] = field(default_factory=list)
    version: str = ""
    grade: str = PROVEN

    @property
    def proven(self) -> bool:
        return all(finding.passed for finding in self.findings)

    @property
    def worst_timed(self) -> float | None:
        errors = [f.error for f in self.findings if f.check == "timed" and f.error is not None]
        return max(filter(math.isfinite, errors), default=None)

    def failures(self) -> list[CheckResult]:
        return [finding for finding in self.findings if not finding.passed]

    def record(self) -> ProofRecord:
        return ProofRecord(
            proven=self.proven,
            worst=self.worst_timed,
            failures=[str(finding) for finding in self.failures()],
            findings=[finding.record() for finding in self.findings],
            notes=self.notes,
            version=self.version,
            grade=self.grade,
        )

    @staticmethod
    def of(record: ProofRecord) -> Proof:
        """A proof that succeeded, from its record."""
        names = [field.name for field in fields(CheckResult)]
        findings = [
            CheckResult(**{name: getattr(found, name) for name in names})
            for found in record.findings
        ]
        return Proof(findings, list(record.notes), version=record.version, grade=record.grade)


def judge_parameters(observation: Observation, workload: Workload) -> CheckResult:
    """The framework's actual tensors against the workload's."""
    shapes = judge_shapes(observation.shapes, workload)
    if not shapes.passed:
        return shapes
    counted, wanted = observation.trainable_parameters, workload.parameter_count()
    where = shapes.where if counted == wanted else f"{counted:,} trainable, not {wanted:,}:"
    return CheckResult("parameters", abs(counted - wanted) / max(wanted, 1), 0.0, where)


def judge_shapes(found: Mapping[str, Sequence[int]], workload: Workload) -> CheckResult:
    """Names and shapes alone."""
    expected = {tensor.name: list(tensor.shape) for tensor in workload.tensors()}
    for name in [*expected, *found]:
        if found.get(name) != expected.get(name):
            if name not in found:
                what = "is missing"
            elif name not in expected:
                what = "is unexpected"
            else:
                what = f"has shape {found[name]} instead of {expected[name]}"
            return CheckResult("parameters", math.inf, 0.0, f"{name} {what}")
    return CheckResult("parameters", 0.0, 0.0, "all names and shapes")


def judge_integers(found: Mapping[str, str], workload: Workload, *, seed: int) -> CheckResult:
    """Digests of the integers by which linear layers multiply, against the core's for a seed."""
    weights = linear_weights(workload)
    names = {tensor.name for tensor in weights}
    if odd := sorted(names ^ found.keys()):
        what = "has no integers" if odd[0] in names else "has integers, but should not"
        return CheckResult("integers", math.inf, 0.0, f"{odd[0]} {what}")
    for tensor in weights:
        if found[tensor.name] != digest(*integers_of(workload.initial(tensor, seed=seed))):
            said = f"{tensor.name} has other integers or scales than the core gave"
            return CheckResult("integers", math.inf, 0.0, said)
    return CheckResult("integers", 0.0, 0.0, f"all of {len(weights)} linear layers")


def judge_outputs(
    observation: Observation, expected: Mapping[str, np.ndarray], *, gate: float, check: str
) -> CheckResult:
    """Evaluation outputs of every step against the reference's sketches."""
    return judge_sketches([s.outputs for s in observation.steps], expected, gate=gate, check=check)


def judge_along(seen: Seen, case: Case) -> CheckResult:
    """All outputs of an operator's timed step, each projected on a random vector, against the same
    projections in float64, which need no matrix product.
    """
    workload = cast("Operator", resolve(case))
    due = workload.answers_along(signs_of, seed=case.seed, batch=seen.batch)
    expected = {name: np.array(sketch(name, array)) for name, array in due.items()}
    return judge_sketches([seen.outputs], expected, gate=TIMED[case.precision], check="timed")


def judge_sketches(
    steps: Sequence[Mapping[str, Sequence[float]]],
    expected: Mapping[str, np.ndarray],
    *,
    gate: float,
    check: str,
) -> CheckResult:
    if set(steps[-1]) != set(expected):
        names = ", ".join(sorted(steps[-1])) or "none"
        return CheckResult(
            check, math.inf, gate, f"outputs {names} instead of {', '.join(expected)}"
        )
    errors = {
        f"output {name}": relative(distance(np.array(step[name]), sketch), sketch)
        for step in steps
        for name, sketch in expected.items()
    }
    found = worst(check, errors, gate)
    agreeing = [name for name in expected if errors[f"output {name}"] <= gate]
    if found.passed:
        return found
    if agreeing:
        said = f"{', '.join(agreeing)} right: the cause is in what they do not share"
    else:
        said = (
            "an error this small may come from an epsilon or an approximation"
            if errors[found.where] < 1e-2
            else ""
        )
    return replace(found, note=said)


def judge_losses(
    losses: Sequence[float | None],
    expected: Sequence[float] | np.ndarray,
    *,
    gate: float,
    check: str,
    drift: float = 0.0,
) -> CheckResult:
    """Every loss against its reference; returns the first that fails, or the closest to its gate.

    The gate widens by the share `drift` of the loss's change since the first step: in the timed
    precision, later losses also carry the rounding of gradients.
    """
    found = []
    for at, (loss, want) in enumerate(zip(losses, expected, strict=True), start=1):
        error = math.inf if loss is None else float(abs(loss - want) / abs(want))
        allowed = gate + float(drift * abs(want - expected[0]) / abs(want))
        times = round(loss / want) if allowed < error < math.inf else 1
        summed = times > 1 and abs(error + 1 - times) < EXACT * times
        note = f"{times} times what it should be: a sum in place of a mean" if summed else ""
        found.append(CheckResult(check, error, allowed, f"loss of step {at}", note))
    failed = [finding for finding in found if not finding.passed]
    return failed[0] if failed else max(found, key=lambda f: (f.error or 0.0) / f.gate)


def judge_trajectory(
    observation: Observation, expected: Trajectory, workload: Workload, *, check: str
) -> CheckResult:
    """The change of every tensor after the last step, and of all together after every step."""
    steps = len(observation.steps)
    names = [tensor.name for tensor in workload.tensors()]
    scale = scales(expected.tensors, workload)
    found = trajectory(observation, workload, scale=scale)
    gaps = np.linalg.norm(found.tensors[:, 1:] - expected.tensors[:, 1:], axis=1) / scale
    errors = {f"change of {name}": float(gap) for name, gap in zip(names, gaps, strict=True)}
    rounded = ROUNDED * rounding(expected.tensors, workload)
    allowed = dict(zip(errors, (EXACT + rounded).tolist(), strict=True))
    if any(error > allowed[where] for where, error in errors.items()):
        # Errors spread; the first large one, not merely past the gate, is their origin.
        cause = first(check, errors, max(EXACT, 0.01 * max(errors.values())))
        note = hint(found, expected, gaps, workload)
        return replace(cause, gate=allowed[cause.where], note=note)
    together = {
        f"all changes together after step {at}": float(gap) / math.sqrt(len(names))
        for at, gap in enumerate(np.linalg.norm(found.whole - expected.whole, axis=1), start=1)
    }
    gate = EXACT + float(np.sqrt(np.mean(rounded**2)))
    if max(together.values()) > gate:
        return first(check, together, gate, note=f"every tensor is right after step {steps}")
    where = max(errors, key=lambda name: errors[name] / allowed[name])
    tensor = CheckResult(check, errors[where], allowed[where], where)
    all_together = worst(check, together, gate)
    return max(tensor, all_together, key=lambda one: (one.error or 0.0) / one.gate)


def hint(found: Trajectory, expected: Trajectory, gaps: np.ndarray, workload: Workload) -> str:
    """A cause suggested by the pattern of the differences."""
    tensors = workload.tensors()
    if not found.tensors[[tensor.trainable for tensor in tensors], 0].any():
        return "no trainable tensor changed: the step skips its update"
    moved = expected.tensors[:, 0] > 0
    ratios = found.tensors[moved, 0] / expected.tensors[moved, 0]
    said = f"{int((gaps > EXACT).sum())} of {len(gaps)} tensors differ"
    if frozen := int((ratios == 0).sum()):
        return f"{said}, {frozen} of them did not change at all"
    factor = float(np.median(ratios))
    if abs(factor - 1) > 1e-6 and np.mean(np.abs(ratios / factor - 1) < 1e-6) > 0.5:
        return f"{said}, most by the common factor {factor:.6g}: loss scaling, clipping or rate"
    large = {t for t, gap in zip(tensors, gaps, strict=True) if gap > 0.01 * gaps.max()}
    if all(not tensor.trainable for tensor in large):
        return f"{said}, running statistics most: momentum or epsilon of a normalization"
    trained = [tensor for tensor in tensors if tensor.trainable]
    for decay, what in ((True, "those with weight decay"), (False, "those without weight decay")):
        group = {tensor for tensor in trained if tensor.decay is decay}
        if large and large <= group and len(group) < len(trained):
            return f"{said}, most of all {what}"
    if along_parameters(found, expected, gaps, workload) > 0.99:
        return f"{said}, most by a multiple of the tensor itself: weight decay"
    return said


def along_parameters(
    found: Trajectory, expected: Trajectory, gaps: np.ndarray, workload: Workload
) -> float:
    """The median cosine between the differences of tensors that are off and those tensors."""
    cosines: list[float] = []
    for tensor, gap, one, other in zip(
        workload.tensors(), gaps, found.tensors, expected.tensors, strict=True
    ):
        if gap > EXACT and tensor.trainable and len(cosines) < 32:
            start = np.array(sketch(tensor.name, workload.initial(tensor, seed=0)))[1:]
            difference = (one - other)[1:]
            norms = np.linalg.norm(start) * np.linalg.norm(difference)
            cosines.append(abs(float(start @ difference)) / float(norms) if norms else 0.0)
    return float(np.median(cosines)) if cosines else 0.0


def judge_flops(counted: float | None, workload: Workload) -> CheckResult:
    if counted is None:
        return CheckResult("flops", None, FLOPS, note="the framework does not count them")
    if not workload.forward_flops():
        return CheckResult("flops", None, FLOPS, note="there are no matrix products to count")
    error = abs(counted - workload.forward_flops()) / workload.forward_flops()
    gate = FLOPS + workload.uncounted_flops() / workload.forward_flops()
    return CheckResult("flops", error, gate, f"{counted / 1e9:.4g} GFLOP forward per sample")


def judge_dropout(first_loss: float | None, again: float | None, without: float) -> CheckResult:
    """Two losses of first steps from the same parameters, against the loss without dropout."""
    if first_loss is None or again is None:
        return CheckResult("dropout", math.inf, DROPOUT, "no loss")
    if first_loss in (again, without):
        return CheckResult("dropout", math.inf, DROPOUT, "the loss does not vary: dropout is off")
    return CheckResult(
        "dropout", abs(first_loss - without) / abs(without), DROPOUT, "loss with dropout"
    )


def distance(sketch: np.ndarray, other: np.ndarray) -> float:
    """The estimated norm of the difference of two sketched tensors."""
    return float(np.linalg.norm(sketch[1:] - other[1:]))


def relative(gap: float, sketch: np.ndarray) -> float:
    """Relative to the expected norm, which may be 0, as after a ReLU of negative inputs."""
    return gap / float(sketch[0]) if sketch[0] else math.inf if gap else 0.0


def worst(check: str, errors: Mapping[str, float], gate: float) -> CheckResult:
    where = max(errors, key=lambda name: errors[name])
    return CheckResult(check, errors[where], gate, where)


def first(check: str, errors: Mapping[str, float], gate: float, *, note: str = "") -> CheckResult:
    """The first error that fails, since errors spread from it; the worst if none fails."""
    for where, error in errors.items():
        if not error <= gate:
            return CheckResult(check, error, gate, where, note)
    return worst(check, errors, gate)


def judge_shown(
    seen: Sequence[Observation], expected: Mapping[int, Mapping[str, np.ndarray]]
) -> Iterator[CheckResult]:
    """Outputs of each set of parameters against float64, and of all sets together, where random
    errors average out, including those of sketches, but systematic ones do not.
    """
    found = []
    for seed, observation in zip(expected, seen, strict=True):
        finding = judge_outputs(observation, expected[seed], gate=TIMED["fp32"], check="shown")
        found.append(replace(finding, where=f"{finding.where} of set {seed + 1}"))
    worst = max(found, key=lambda finding: finding.error or 0.0)
    yield worst
    if worst.passed:
        for name in next(iter(expected.values())):
            errors = [
                distance(np.array(observation.steps[0].outputs[name]), outputs[name])
                / outputs[name][0]
                for outputs, observation in zip(expected.values(), seen, strict=True)
            ]
            error = float(np.sqrt(np.mean(np.square(errors))))
            yield CheckResult("shown", error, SHOWN_TOGETHER, f"output {name} of all sets together")
