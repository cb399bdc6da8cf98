"""The pass as it is timed: in the timed precision, under the timed compiler."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mbench.contract.precision import PRECISIONS
from mbench.contract.scenario import GRADIENTS, LOSS, OUTPUTS, RANKS, RULE, UPDATES
from mbench.proofs import judge
from mbench.proofs.changes import RULE_RATE, judge_changes, judge_masks, judge_rule
from mbench.proofs.passes import collective_pass, judge_seeds, judged_phase, update_pass
from mbench.proofs.proof_case import given_case, proof_work
from mbench.proofs.reference import PLAIN_RATE, SEEDS, Computed
from mbench.proofs.tolerances import CHANGES, DRIFT, TIMED
from mbench.scenarios.find import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract import wire
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer
    from mbench.workloads.given import GivenWorkload

__all__ = ["timed_pass"]


def timed_pass(observer: Observer) -> Iterator[judge.CheckResult]:
    """The timed precision and compiler: outputs or losses, and dropout where there is any."""
    yield from PASSES[observer.scenario.proof](observer)


def of_ranks(observer: Observer) -> Iterator[judge.CheckResult]:
    return collective_pass(observer, observer.timed, check="timed")


def of_rule(observer: Observer) -> Iterator[judge.CheckResult]:
    return update_pass(observer, observer.timed, check="rule")


def of_phase(observer: Observer) -> Iterator[judge.CheckResult]:
    case = observer.timed
    with timed(observer) as worker:
        (seen,) = observer.observe(worker, case, steps=1)
        gate, gates = TIMED[case.precision], CHANGES[case.precision]
        yield from judged_phase(observer, seen, gate=gate, gates=gates)


def of_outputs(observer: Observer) -> Iterator[judge.CheckResult]:
    case = observer.timed
    with timed(observer) as worker:
        seen = observer.observe(worker, case, seeds=SEEDS, steps=observer.passes)
        if PRECISIONS[case.precision].quantized:
            for seed, one in zip(SEEDS, seen, strict=True):
                yield judge.judge_integers(one.integers, observer.workload, seed=seed)
        yield from judge_seeds(observer, seen, gate=TIMED[case.precision], check="timed")


def of_updates(observer: Observer) -> Iterator[judge.CheckResult]:
    case = observer.timed
    with timed(observer) as worker:
        (trained,) = observer.observe(worker, case)
        losses = [step.loss for step in trained.steps]
        due, gate = observer.reference.own.losses, TIMED[case.precision]
        yield judge.judge_losses(losses, due, gate=gate, check="timed", drift=DRIFT)
        yield from timed_changes(observer, worker, trained)
        yield timed_rule(observer, worker)
        active = replace(case, dropout=True)
        if resolve(active).config != resolve(case).config:
            once, again = observer.observe(worker, active, seeds=(0, 0), steps=1)
            assert losses[0] is not None
            yield judge.judge_dropout(once.steps[0].loss, again.steps[0].loss, losses[0])
            yield from timed_masks(observer, worker)


PASSES = {
    RANKS: of_ranks, RULE: of_rule, LOSS: of_phase, GRADIENTS: of_phase, OUTPUTS: of_outputs,
    UPDATES: of_updates,
}  # fmt: skip
"""Passes by the way in which a scenario is proven."""


@contextmanager
def timed(observer: Observer) -> Iterator[Worker]:
    case = observer.timed
    what = f"{observer.subject} in " if isinstance(observer.known, Computed) else ""
    observer.report(f"proving {what}{case.precision} under {case.compiler}")
    with observer.worker(case, observer.log) as worker:
        yield worker


def timed_changes(
    observer: Observer, worker: Worker, trained: wire.Observation
) -> Iterator[judge.CheckResult]:
    """Gradients in the timed precision, and the timed optimizer's steps where they are visible."""
    case, gates = observer.timed, CHANGES[observer.timed.precision]
    gradients = observer.reference.plain.tensors
    plain = observer.work.plain(observer.visible)
    (bare,) = observer.observe(worker, case, work=plain, steps=1)
    yield from judge_changes(
        bare.steps[0], gradients, observer.workload,
        gates=gates, check="gradients", factor=observer.visible / PLAIN_RATE,
    )  # fmt: skip
    if gates.steps:
        yield from judge_changes(
            trained.steps[-1], observer.reference.own.tensors, observer.workload,
            gates=gates.of_steps(), check="steps",
        )  # fmt: skip


def timed_masks(observer: Observer, worker: Worker) -> Iterator[judge.CheckResult]:
    """Judges dropout masks by the gradients of one sample, computed twice."""
    sizes = observer.workload.mask_sizes or observer.timed.sizes
    case = replace(observer.timed, dropout=True, batch_size=1, sizes=sizes, accumulate=1)
    plain = observer.work.plain(observer.visible)
    if rates := resolve(case, plain).masks():
        once, again = observer.observe(
            worker, case, work=plain, seeds=(0, 0), steps=1, masked=list(rates)
        )
        yield from judge_masks(once.steps[0], again.steps[0], rates)


def timed_rule(observer: Observer, worker: Worker) -> judge.CheckResult:
    """Judges the timed optimizer's own kernels, which may not be those for float64."""
    case = given_case(observer.timed)
    work = proof_work(observer.timed, learning_rate=RULE_RATE)
    support = observer.adapter.supports(case)
    if not support.supported:
        observer.notes.append(f"the optimizer alone is not proven: {support.reason}")
        return judge.CheckResult("rule", None, 0.0, note=support.reason)
    workload = cast("GivenWorkload", resolve(case, work))
    (seen,) = observer.observe(worker, case, work=work, in_turn=True)
    return judge_rule(seen.steps, workload, precision=case.precision, seed=case.seed)
