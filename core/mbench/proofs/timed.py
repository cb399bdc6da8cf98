"""The pass as it is timed: in the timed precision, under the timed compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mbench.proofs import judge
from mbench.proofs.changes import RULE_RATE, judge_changes, judge_masks, judge_rule
from mbench.proofs.passes import collective_pass, judge_seeds, judged_phase, update_pass
from mbench.proofs.reference import PLAIN_RATE, SEEDS, Computed
from mbench.proofs.tolerances import CHANGES, DRIFT, TIMED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract import wire
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer
    from mbench.workloads.given import GivenWorkload

__all__ = ["timed_pass"]


def timed_pass(observer: Observer) -> Iterator[judge.CheckResult]:
    """The timed precision and compiler: outputs or losses, and dropout where there is any."""
    if observer.workload.exchanges:
        yield from collective_pass(observer, observer.timed, check="timed")
        return
    if observer.workload.updates_only:
        yield from update_pass(observer, observer.timed, check="rule")
        return
    case, gate = observer.timed, TIMED[observer.timed.precision]
    what = f"{observer.subject} in " if isinstance(observer.known, Computed) else ""
    observer.report(f"proving {what}{case.precision} under {case.compiler}")
    with observer.worker(case, observer.log) as worker:
        if case.phase:
            (observed,) = observer.observe(worker, case, steps=1)
            yield from judged_phase(observer, observed, gate=gate, gates=CHANGES[case.precision])
            return
        if not case.updates:
            seen = observer.observe(worker, case, seeds=SEEDS, steps=1)
            yield from judge_seeds(observer, seen, gate=gate, check="timed")
            return
        (trained,) = observer.observe(worker, case)
        losses = [step.loss for step in trained.steps]
        yield judge.judge_losses(
            losses, observer.reference.own.losses, gate=gate, check="timed", drift=DRIFT
        )
        yield from timed_changes(observer, worker, trained)
        yield timed_rule(observer, worker)
        active = replace(case, dropout=True)
        if active.resolve().config != case.resolve().config:
            once, again = observer.observe(worker, active, seeds=(0, 0), steps=1)
            assert losses[0] is not None
            yield judge.judge_dropout(once.steps[0].loss, again.steps[0].loss, losses[0])
            yield from timed_masks(observer, worker)


def timed_changes(
    observer: Observer, worker: Worker, trained: wire.Observation
) -> Iterator[judge.CheckResult]:
    """Gradients in the timed precision, and the timed optimizer's steps where they show."""
    case, gates = observer.timed, CHANGES[observer.timed.precision]
    gradients = observer.reference.plain.tensors
    (bare,) = observer.observe(worker, replace(case, plain_sgd=observer.visible), steps=1)
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
    """The gradients of one sample, twice."""
    sizes = observer.workload.mask_sizes or observer.timed.sizes
    case = replace(
        observer.timed, dropout=True, plain_sgd=observer.visible, batch_size=1, sizes=sizes
    )
    if rates := case.resolve().masks():
        once, again = observer.observe(worker, case, seeds=(0, 0), steps=1, masked=list(rates))
        yield from judge_masks(once.steps[0], again.steps[0], rates)


def timed_rule(observer: Observer, worker: Worker) -> judge.CheckResult:
    """The optimizer's own kernels, which in float64 may be others."""
    case = replace(observer.timed, given=True, sizes={}, batch_size=1, learning_rate=RULE_RATE)
    support = observer.adapter.supports(case)
    if not support.supported:
        observer.notes.append(f"the optimizer alone is not proven: {support.reason}")
        return judge.CheckResult("rule", None, 0.0, note=support.reason)
    workload = cast("GivenWorkload", case.resolve())
    (seen,) = observer.observe(worker, case, in_turn=True)
    return judge_rule(seen.steps, workload, precision=case.precision, seed=case.seed)
