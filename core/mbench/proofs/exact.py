"""The pass in float64, or, where a framework has none, in fp32 over many sets of parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded
from mbench.proofs import judge
from mbench.proofs.judge import judge_shown
from mbench.proofs.passes import collective_pass, judge_seeds, judged_phase, update_pass
from mbench.proofs.proof_case import exact_case
from mbench.proofs.reference import DRAWN, KEPT, PLAIN_RATE, SEEDS
from mbench.proofs.tolerances import EXACT
from mbench.results.proof import PROVEN, SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer

__all__ = ["exact_pass"]


def exact_pass(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    """Float64: parameters, outputs and, for training, losses, gradients and optimizer.

    Where there is none, fp32: outputs of many sets of parameters stand for all of that.
    """
    if observer.workload.exchanges:
        yield from collective_pass(observer, exact, check="outputs")
        return
    if observer.workload.updates_only:
        yield from update_pass(observer, exact, check="optimizer")
        return
    precise = "float64" if observer.grade == PROVEN else "fp32"
    with observer.worker(exact, observer.log.with_stem(f"{observer.log.stem}-{precise}")) as worker:
        observer.report(f"proving {observer.subject} in {precise}")
        inference = exact
        if exact.updates:
            inference = exact_case(observer.adapter, replace(exact, mode="inference"))
        seeds = SEEDS if observer.grade == PROVEN else tuple(DRAWN)
        if exact.phase:
            seeds = SEEDS[::-1]  # the first is known: a result that is kept is of the other
        seen = observer.observe(worker, inference, seeds=seeds, steps=1)
        parameters = judge.judge_parameters(seen[0], observer.workload)
        yield parameters
        if not parameters.passed:
            return
        if exact.layers is not None:
            yield full_size(worker, exact, notes)
        if exact.phase:
            yield from judged_phase(observer, seen[-1], gate=EXACT)
            return
        if observer.grade == PROVEN:
            yield from judge_seeds(observer, seen, gate=EXACT, check="outputs")
        else:
            yield from judge_shown(seen, observer.known.outputs)
        yield judge.judge_flops(seen[0].counted_flops, observer.workload)
        if not exact.updates or observer.grade == SHOWN:
            return
        # One step of bare descent is the gradient; what steps do in turn shows in the other.
        for name, check in (("plain", "updates"), ("own", "optimizer")):
            observer.report(f"proving {check} in float64")
            case = replace(exact, plain_sgd=PLAIN_RATE if name == "plain" else None)
            (observation,) = observer.observe(worker, case, steps=KEPT[name])
            expected = getattr(observer.reference, name)
            yield judge.judge_trajectory(observation, expected, observer.workload, check=check)
            losses = [step.loss for step in observation.steps]
            yield judge.judge_losses(losses, expected.losses, gate=EXACT, check="loss")


def full_size(worker: Worker, exact: Case, notes: list[str]) -> judge.CheckResult:
    """Names and shapes of the whole model, where what is proven has fewer layers."""
    whole = replace(exact, layers=None)
    workload = whole.resolve()
    proven = f"proven with {exact.layers} layers of the same code"
    try:
        found = worker.ask(wire.FindShapes(case=whole), wire.ShapesFound)
    except CaseEnded as end:
        if end.outcome != "unsupported":
            raise
        notes.append(f"{proven}; whole size not checked: {end.reason}")
        return judge.CheckResult("parameters", None, 0.0, note=end.reason)
    notes.append(f"{proven}; all {workload.parameter_count():,} parameters by shape")
    return judge.judge_shapes(found.shapes, workload)
