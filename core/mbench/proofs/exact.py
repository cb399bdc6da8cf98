"""The pass in float64, or, where a framework has none, in fp32 over many sets of parameters."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.scenario import GRADIENTS, LOSS, OUTPUTS, RANKS, RULE, UPDATES
from mbench.engine.outcome import CaseEnded
from mbench.proofs import judge
from mbench.proofs.judge import judge_shown
from mbench.proofs.passes import collective_pass, judge_seeds, judged_phase, update_pass
from mbench.proofs.proof_case import exact_case
from mbench.proofs.reference import DRAWN, KEPT, PLAIN_RATE, SEEDS
from mbench.proofs.tolerances import EXACT
from mbench.results.proof import PROVEN, SHOWN
from mbench.scenarios.find import in_mode, resolve

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from mbench.contract.case import Case
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer

__all__ = ["exact_pass"]


def exact_pass(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    """Float64: parameters, outputs and, for training, losses, gradients and optimizer.

    Without float64, fp32: outputs of many sets of parameters stand in for all of that.
    """
    yield from PASSES[observer.scenario.proof](observer, exact, notes)


def of_ranks(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    return collective_pass(observer, exact, check="outputs")


def of_rule(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    return update_pass(observer, exact, check="optimizer")


def of_phase(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    with precise(observer, exact) as worker:
        seeds = SEEDS[::-1]  # the first is known and comes last: a cached result is the other's
        seen = observer.observe(worker, exact, seeds=seeds, steps=1)
        if (yield from of_parameters(observer, worker, exact, seen[0], notes)):
            yield from judged_phase(observer, seen[-1], gate=EXACT)


def of_outputs(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    with precise(observer, exact) as worker:
        yield from outputs(observer, worker, exact, exact, notes)


def of_updates(observer: Observer, exact: Case, notes: list[str]) -> Iterator[judge.CheckResult]:
    with precise(observer, exact) as worker:
        inference = exact_case(observer.adapter, in_mode(exact, "inference"))
        right = yield from outputs(observer, worker, exact, inference, notes)
        if not right or observer.grade == SHOWN:
            return
        # One step of plain descent is the gradient; the other shows what steps do in sequence.
        for name, check in (("plain", "updates"), ("own", "optimizer")):
            observer.report(f"proving {check} in float64")
            work = observer.work.plain(PLAIN_RATE) if name == "plain" else observer.work
            (observation,) = observer.observe(worker, exact, work=work, steps=KEPT[name])
            expected = getattr(observer.reference, name)
            yield judge.judge_trajectory(observation, expected, observer.workload, check=check)
            losses = [step.loss for step in observation.steps]
            yield judge.judge_losses(losses, expected.losses, gate=EXACT, check="loss")


PASSES = {
    RANKS: of_ranks, RULE: of_rule, LOSS: of_phase, GRADIENTS: of_phase, OUTPUTS: of_outputs,
    UPDATES: of_updates,
}  # fmt: skip
"""Passes by the way in which a scenario is proven."""


@contextmanager
def precise(observer: Observer, exact: Case) -> Iterator[Worker]:
    in_what = "float64" if observer.grade == PROVEN else "fp32"
    log = observer.log.with_stem(f"{observer.log.stem}-{in_what}")
    with observer.worker(exact, log) as worker:
        observer.report(f"proving {observer.subject} in {in_what}")
        yield worker


def outputs(
    observer: Observer, worker: Worker, exact: Case, inference: Case, notes: list[str]
) -> Generator[judge.CheckResult, None, bool]:
    """Outputs of an evaluation pass, in `inference`; returns whether it is the right model."""
    seeds = SEEDS if observer.grade == PROVEN else tuple(DRAWN)
    seen = observer.observe(worker, inference, seeds=seeds, steps=observer.passes)
    if not (yield from of_parameters(observer, worker, exact, seen[0], notes)):
        return False
    if observer.grade == PROVEN:
        yield from judge_seeds(observer, seen, gate=EXACT, check="outputs")
    else:
        yield from judge_shown(seen, observer.known.outputs)
    yield judge.judge_flops(seen[0].counted_flops, observer.workload)
    return True


def of_parameters(
    observer: Observer, worker: Worker, exact: Case, seen: wire.Observation, notes: list[str]
) -> Generator[judge.CheckResult, None, bool]:
    """Names and shapes; returns whether they are right, as no other model can be checked."""
    parameters = judge.judge_parameters(seen, observer.workload)
    yield parameters
    layers = observer.work.layers
    if parameters.passed and (layers is not None or observer.workload.proof.get("by_shape")):
        smaller = "smaller tensors" if layers is None else f"{layers} layers"
        yield full_size(worker, exact, notes, smaller=smaller)
    return parameters.passed


def full_size(worker: Worker, exact: Case, notes: list[str], *, smaller: str) -> judge.CheckResult:
    """Names and shapes of the whole model, where the proven one has fewer layers or rows."""
    workload, usual = resolve(exact), resolve(replace(exact, sizes={}))
    if workload.parameter_count() != usual.parameter_count():  # the proof has fewer words, too
        exact, workload = replace(exact, sizes={}), usual
    proven = f"proven with {smaller} of the same code"
    try:
        found = worker.ask(wire.FindShapes(case=exact), wire.ShapesFound)
    except CaseEnded as end:
        if end.outcome != "unsupported":
            raise
        notes.append(f"{proven}; full size not checked: {end.reason}")
        return judge.CheckResult("parameters", None, 0.0, note=end.reason)
    notes.append(f"{proven}; all {workload.parameter_count():,} parameters by shape")
    return judge.judge_shapes(found.shapes, workload)
