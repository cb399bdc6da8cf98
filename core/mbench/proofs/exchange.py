"""Proves that processes that train one model together do exchange: all of them, and their mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbench.proofs.judge import CheckResult, worst
from mbench.proofs.reference import scales
from mbench.proofs.tolerances import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.wire import Observation
    from mbench.workloads.workload import Workload

    WorkerGroup = Sequence[Observation]
    """What each rank saw of the same step."""

__all__ = ["CHECK", "EXCHANGED", "MOST_PARTS", "Apart", "judge_apart", "judge_clipped",
           "judge_together", "ways_apart"]  # fmt: skip

CHECK = "exchange"
MOST_PARTS = 16
"""Batches that ranks differ by. Where there are more ranks, some have the same one, in two ways."""
EXCHANGED = 0.1
"""Of all changes together in the timed precision, between the mean of what single parts make and
what they make together. It holds one framework against itself, so only rounding is in between;
what is not exchanged shows as 0.5 or more, a sum for a mean of two as 1."""


@dataclass(frozen=True)
class Apart:
    """One way in which ranks have batches of their own: `stride` in a row have the same one."""

    stride: int
    parts: int
    ranks: int

    def part(self, rank: int) -> int:
        return rank // self.stride % self.parts

    def weights(self) -> np.ndarray:
        """(parts,): the share of each in the mean over ranks."""
        counts = np.bincount([self.part(rank) for rank in range(self.ranks)], minlength=self.parts)
        return counts / self.ranks


def ways_apart(ranks: int) -> list[Apart]:
    """Each rank by itself; of more ranks than parts, side by side too.

    A mean over some of the ranks, a node's say, is not the mean over all in both.
    """
    parts = min(ranks, MOST_PARTS)
    strides = [1] if ranks <= parts else [1, -(-ranks // parts)]
    return [Apart(stride, parts, ranks) for stride in strides]


def judge_together(seen: WorkerGroup, workload: Workload, *, gate: float) -> CheckResult:
    """Whether all ranks changed their parameters alike."""
    first = changes(seen[0], workload)
    scale = scales(first, workload)
    trained = trainable(workload)
    errors = {}
    for rank, one in enumerate(seen):
        gaps = np.linalg.norm(changes(one, workload)[:, 1:] - first[:, 1:], axis=1) / scale
        errors[f"parameters of rank {rank}"] = float(gaps[trained].max())
    finding = worst(CHECK, errors, gate)
    if finding.passed:
        return finding
    return CheckResult(CHECK, finding.error, gate, finding.where, "ranks do not train one model")


def judge_apart(
    own: WorkerGroup, single: Sequence[Observation], workload: Workload, *, way: Apart, gate: float
) -> Iterator[CheckResult]:
    """Whether each rank's loss is that of its part, and all change by the mean of what parts make.

    `single[p]` is what was seen where all ranks had part p.
    """
    losses = {}
    for rank, one in enumerate(own):
        due = loss_of(single[way.part(rank)])
        losses[f"loss of rank {rank}"] = abs(loss_of(one) - due) / abs(due)
    yield worst(CHECK, losses, gate)

    of_parts = np.array([changes(one, workload) for one in single])  # (P, T, 6)
    due = np.einsum("p,pts->ts", way.weights(), of_parts[:, :, 1:])  # sums are linear, norms not
    found, trained = changes(own[0], workload)[:, 1:], trainable(workload)
    if gate > EXACT:
        size = np.linalg.norm(due[trained])
        error = np.linalg.norm((found - due)[trained]) / size
        errors = {"all changes together": float(error)}
    else:
        gaps = np.linalg.norm(found - due, axis=1) / scales(of_parts.mean(axis=0), workload)
        tensors = workload.tensors()
        errors = {f"change of {tensors[at].name}": float(gaps[at]) for at in trained}
    finding = worst(CHECK, errors, gate)
    note = "" if finding.passed else hint(found[trained], due[trained], of_parts[:, trained, 1:])
    yield CheckResult(CHECK, finding.error, gate, finding.where, note)


def judge_clipped(
    clipped: WorkerGroup, bare: WorkerGroup, workload: Workload, *, rate: float, gate: float
) -> CheckResult:
    """Whether the mean of gradients is what is clipped, rather than each before it."""
    norm = workload.optimizer.clip_norm
    assert norm is not None
    trained = trainable(workload)
    due, found = changes(bare[0], workload)[trained], changes(clipped[0], workload)[trained]
    whole = float(np.linalg.norm(due[:, 0])) / rate
    due = due * min(1.0, norm / (whole + 1e-6))
    error = float(np.linalg.norm((found - due)[:, 1:]) / np.linalg.norm(due[:, 1:]))
    note = "" if error <= gate else "gradients are clipped before they are exchanged, or not at all"
    return CheckResult(CHECK, error, gate, "all changes together, clipped", note)


def hint(found: np.ndarray, due: np.ndarray, of_parts: np.ndarray) -> str:
    """What the pattern tells; all (T, 5), the last (P, T, 5)."""
    size = float(np.linalg.norm(due))
    for part, alone in enumerate(of_parts):
        if float(np.linalg.norm(found - alone)) < 1e-3 * size:
            return f"rank 0 changes as part {part} alone makes it: nothing is exchanged"
    factor = float(np.vdot(found, due)) / size**2
    if float(np.linalg.norm(found - factor * due)) < 1e-3 * size:
        return f"{factor:.4g} times the mean: a sum, or a mean over other ranks"
    return "it is the mean of some ranks, or weighs them unlike each other"


def changes(observation: Observation, workload: Workload) -> np.ndarray:
    """(T, 6): the sketch of each tensor's change."""
    parameters = observation.steps[-1].parameters
    return np.array([parameters[tensor.name] for tensor in workload.tensors()])


def trainable(workload: Workload) -> np.ndarray:
    """Where the trainable tensors stand."""
    return np.flatnonzero([tensor.trainable for tensor in workload.tensors()])


def loss_of(observation: Observation) -> float:
    loss = observation.steps[-1].loss
    assert loss is not None
    return loss
