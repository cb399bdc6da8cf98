"""Proves that processes that train one model exchange gradients, and that collectives are right."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from mbench.contract import wire
from mbench.contract.sketch import sketch, thinned
from mbench.contract.workload import MOST_BATCHES
from mbench.proofs import judge
from mbench.proofs.judge import CheckResult, worst
from mbench.proofs.reference import scales
from mbench.proofs.tolerances import EXACT
from mbench.scenarios.find import resolve
from mbench.workloads.operators.collectives import answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.wire import Observation
    from mbench.contract.workload import Workload

    WorkerGroup = Sequence[Observation]
    """Each rank's observation of the same step."""
    from collections.abc import Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.wire import Observation, Seen
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer
    from mbench.workloads.operators.collectives import Collective

    Outputs = Mapping[str, Sequence[float]]
    """Sketches by name."""

__all__ = [
    "CHECK",
    "EXCHANGED",
    "MOST_PARTS",
    "RankBatches",
    "exchange_pass",
    "judge_clipped",
    "judge_mean",
    "judge_ranks",
    "judge_same_changes",
    "rank_batches",
    "wrong_rank",
]


CHECK = "exchange"
MOST_PARTS = 16
"""Maximum number of different batches among the ranks. With more ranks, some share a batch, in two
different ways."""
EXCHANGED = 0.1
"""Gate in the timed precision for all changes together: the mean over single parts against the
result of the exchange. This compares a framework with itself, so they differ only by rounding.
Without exchange the error is 0.5 or more, and 1 for the sum of two instead of the mean."""


@dataclass(frozen=True)
class RankBatches:
    """One assignment of batches to ranks: `stride` consecutive ranks have the same batch."""

    stride: int
    parts: int
    ranks: int

    def part(self, rank: int) -> int:
        return rank // self.stride % self.parts

    def weights(self) -> np.ndarray:
        """(parts,): the share of each in the mean over ranks."""
        counts = np.bincount([self.part(rank) for rank in range(self.ranks)], minlength=self.parts)
        return counts / self.ranks


def rank_batches(ranks: int) -> list[RankBatches]:
    """One assignment, or two if there are more ranks than parts.

    A mean over some ranks, such as a node's, differs from the mean over all in one assignment.
    """
    parts = min(ranks, MOST_PARTS)
    strides = [1] if ranks <= parts else [1, -(-ranks // parts)]
    return [RankBatches(stride, parts, ranks) for stride in strides]


def judge_same_changes(seen: WorkerGroup, workload: Workload, *, gate: float) -> CheckResult:
    """Whether all ranks changed their parameters equally."""
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
    return CheckResult(
        CHECK, finding.error, gate, finding.where, "ranks do not train the same model"
    )


def judge_mean(
    own: WorkerGroup,
    single: Sequence[Observation],
    workload: Workload,
    *,
    way: RankBatches,
    gate: float,
) -> Iterator[CheckResult]:
    """Whether each rank's loss is that of its part, and all ranks change by the mean over parts.

    `single[p]` is the observation with part p on all ranks.
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
    """Whether the mean of the gradients is clipped, rather than each rank's before averaging."""
    norm = workload.optimizer.clip_norm
    assert norm is not None
    trained = trainable(workload)
    due, found = changes(bare[0], workload)[trained], changes(clipped[0], workload)[trained]
    whole = float(np.linalg.norm(due[:, 0])) / rate
    due = due * min(1.0, norm / (whole + 1e-6))
    error = float(np.linalg.norm((found - due)[:, 1:]) / np.linalg.norm(due[:, 1:]))
    note = "" if error <= gate else "gradients are clipped before the exchange, or not at all"
    return CheckResult(CHECK, error, gate, "all changes together, clipped", note)


def hint(found: np.ndarray, due: np.ndarray, of_parts: np.ndarray) -> str:
    """A cause suggested by the pattern; all (T, 5), the last (P, T, 5)."""
    size = float(np.linalg.norm(due))
    for part, alone in enumerate(of_parts):
        if float(np.linalg.norm(found - alone)) < 1e-3 * size:
            return f"rank 0 changes by part {part} alone: nothing is exchanged"
    factor = float(np.vdot(found, due)) / size**2
    if float(np.linalg.norm(found - factor * due)) < 1e-3 * size:
        return f"{factor:.4g} times the mean: a sum, or a mean over other ranks"
    return "it is the mean of some ranks, or one with unequal weights"


def changes(observation: Observation, workload: Workload) -> np.ndarray:
    """(T, 6): the sketch of each tensor's change."""
    parameters = observation.steps[-1].parameters
    return np.array([parameters[tensor.name] for tensor in workload.tensors()])


def trainable(workload: Workload) -> np.ndarray:
    """The positions of trainable tensors."""
    return np.flatnonzero([tensor.trainable for tensor in workload.tensors()])


def loss_of(observation: Observation) -> float:
    loss = observation.steps[-1].loss
    assert loss is not None
    return loss


def exchange_pass(
    observer: Observer, case: Case, rate: float, *, gate: float
) -> Iterator[judge.CheckResult]:
    """One step of plain descent: first all ranks with the same batch, then each with its own."""
    ways = rank_batches(case.devices)
    work = replace(observer.work.plain(rate), parts=ways[0].parts)
    unclipped = replace(case, clip=False)
    observer.report(f"proving the exchange of {case.devices} processes in {case.precision}")
    stem = f"{observer.log.stem}-together-{case.precision}"
    with observer.worker(case, observer.log.with_stem(stem)) as worker:
        worker.prepare(case, load=False, work=work)
        together = seen_by_all(worker)
        yield judge_same_changes(together, observer.workload, gate=gate)
        if gate == EXACT:
            yield judge.judge_trajectory(
                together[0], observer.reference.plain, observer.workload, check=CHECK
            )
        clips = resolve(case, work).optimizer.clip_norm is not None
        if clips:
            clipped = seen_by_all(worker, apart=1)
            worker.prepare(unclipped, load=False, work=work)
        single = [seen_by_all(worker, batch=part)[0] for part in range(ways[0].parts)]
        for way in ways:
            own = seen_by_all(worker, apart=way.stride)
            yield judge_same_changes(own, observer.workload, gate=gate)
            yield from judge_mean(own, single, observer.workload, way=way, gate=gate)
            if clips and way is ways[0]:
                yield judge_clipped(clipped, own, observer.workload, rate=rate, gate=gate)


def seen_by_all(worker: Worker, *, batch: int = 0, apart: int = 0) -> list[wire.Observation]:
    """Each rank's observation of one step."""
    message = wire.Observe(seed=0, steps=1, batch=batch, apart=apart)
    return worker.ask_all(message, wire.Observation)


KEPT = 32
"""Number of batches whose answers are cached, over all cases, since several cases may alternate."""


def judge_ranks(
    seen: Sequence[Observation], due: Sequence[Mapping[str, np.ndarray]], *, check: str
) -> Iterator[CheckResult]:
    """Compare each rank with its expected results: whole numbers, exact to the last bit."""
    for rank, (one, expected) in enumerate(zip(seen, due, strict=True)):
        sketches = {name: sketch(name, array) for name, array in expected.items()}
        said = wrong(one.steps[-1].outputs, sketches)
        where = said or ", ".join(expected) or "nothing is expected"
        yield CheckResult(check, math.inf if said else 0.0, 0.0, f"rank {rank}: {where}")


def wrong_rank(case: Case, seen: Sequence[Seen]) -> str:
    """What is wrong with a timed step's result on any rank; empty if nothing is wrong."""
    config = cast("Collective", resolve(case).config)
    due = timed_answers(config, case.seed * MOST_BATCHES + seen[0].batch)
    for rank, (one, expected) in enumerate(zip(seen, due, strict=True)):
        if said := wrong(one.outputs, expected):
            return f"rank {rank} after {one.step} steps: {said}"
    return ""


@lru_cache(KEPT)
def timed_answers(config: Collective, seed: int) -> list[dict[str, list[float]]]:
    """By rank, the results due from a step on the batch of that seed, as workers report them."""
    return [
        {name: sketch(name, thinned(array)) for name, array in of_rank.items()}
        for of_rank in answers(config, seed)
    ]


def wrong(found: Outputs, due: Outputs) -> str:
    """The first result that is not exact; empty if all are. Sketches of whole numbers are exact."""
    if set(found) != set(due):
        had = ", ".join(sorted(found)) or "nothing"
        return f"it has {had} instead of {', '.join(due) or 'nothing'}"
    for name, expected in due.items():
        if list(found[name]) != list(expected):
            return f"{name} is not the result of the ranks' numbers"
    return ""
