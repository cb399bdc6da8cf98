"""Finds which tensor a framework uses wrongly, by comparison with a proven framework.

A tensor whose numbers are all equal has no order that could be wrong, and one that is all zero has
no effect. So tensors are filled one at a time, in both frameworks. Where their outputs then agree,
that tensor was the one used wrongly.
"""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import wire
from mbench.engine import local
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.proofs.judge import distance
from mbench.proofs.proof_case import in_float64, proof_case, proof_work
from mbench.proofs.tolerances import EXACT
from mbench.scenarios.find import in_mode, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.contract.workload import Tensor
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher, Worker

    Side = tuple[Adapter, Environment, Case, Path]
    """The last item is the path of the worker's log."""

__all__ = ["Located", "locate", "located"]

IN_ORDER = "look at their order first, such as a transpose or a swap"


@dataclass(frozen=True)
class Located:
    """The tensors that were found, in words (`said`) and by name. `errors` is how far outputs
    differed while a tensor was `filled`, "alike" or "zero"; None where outputs could not be
    compared.
    """

    said: str
    tensors: list[str] = field(default_factory=list)
    filled: str = ""
    errors: dict[str, float | None] = field(default_factory=dict)


def locate(
    new: Side,
    proven: Side,
    *,
    timeout: float,
    report: Callable[[str], None],
    launcher: Launcher = local.start,
) -> Located:
    """Find where the outputs of `new` diverge from those of `proven`; raises CaseEnded.

    One device is enough at any scale: each device has its own outputs.
    """
    with ExitStack() as stack:
        workers = []
        for adapter, environment, case, log in (new, proven):
            exact = in_float64(adapter, in_mode(proof_case(case), "inference"))
            worker, _ = launch(
                adapter, environment, exact, log=log, timeout=timeout, launcher=launcher
            )
            stack.enter_context(closing(worker))
            work = proof_work(case)
            worker.prepare(exact, load=False, work=work)
            workers.append(worker)
        tensors = resolve(exact, work).tensors()
        return located(lambda filled: apart(workers, filled), tensors, report=report)


def apart(workers: Sequence[Worker], filled: Mapping[str, float]) -> float:
    """The largest relative difference of an output with these tensors filled."""
    request = wire.Observe(seed=0, steps=1, filled=dict(filled))
    try:
        one, other = (worker.ask(request, wire.Observation).steps[0].outputs for worker in workers)
    except CaseEnded as end:
        if end.outcome != "failed":  # an output that is not finite
            raise
        return math.inf
    if set(one) != set(other):
        return math.inf
    return max(
        distance(np.array(one[name]), np.array(due)) / max(due[0], np.finfo(float).tiny)
        for name, due in other.items()
    )


def located(
    error: Callable[[Mapping[str, float]], float],
    tensors: Sequence[Tensor],
    *,
    report: Callable[[str], None],
) -> Located:
    """`error` returns how far outputs differ when each given tensor is filled with its number."""

    def one_at_a_time(values: Mapping[str, float], what: str) -> dict[str, float]:
        report(f"outputs with one of {len(values)} tensors {what} at a time")
        return {name: error({name: value}) for name, value in values.items()}

    def result(said: str, names: list[str], filled: str, errors: Mapping[str, float]) -> Located:
        finite = {n: e if math.isfinite(e) else None for n, e in errors.items()}
        return Located(said.format(", ".join(names)), names, filled, finite)

    if error({}) <= EXACT:
        return Located(
            "outputs agree with the proven framework's here: the cause is not in the tensors"
        )
    even = {tensor.name: evened(tensor) for tensor in tensors}
    errors = one_at_a_time(even, "alike")
    if found := agreeing(errors):
        any_of = "any of " if len(found) > 1 else ""
        said = f"outputs agree once all numbers of {any_of}{{}} are alike: {IN_ORDER}"
        return result(said, found, "alike", errors)
    if error(even) <= EXACT:
        report(f"outputs with fewer and fewer of {len(even)} tensors alike")
        # A uniform tensor hides the order of outputs behind it, and that of inputs before it.
        found = min((fewest(error, even, names) for names in (reversed(even), even)), key=len)
        said = f"outputs agree once all numbers of each of {{}} are alike: {IN_ORDER}"
        return result(said, found, "alike", errors)
    zero = {tensor.name: 0.0 for tensor in tensors if tensor.trainable}
    errors = one_at_a_time(zero, "zero")
    if found := agreeing(errors)[:1]:
        said = (
            "outputs agree once {} is zero: look at what is done with it and just before; what "
            "comes after it is right"
        )
        return result(said, found, "zero", errors)
    return result("no single tensor: outputs differ whichever one is zero", [], "zero", errors)


def fewest(
    error: Callable[[Mapping[str, float]], float], filled: Mapping[str, float], names: Iterable[str]
) -> list[str]:
    """Those of `filled` that must stay filled for outputs to agree; the others are dropped one by
    one.
    """
    kept = dict(filled)
    for name in names:
        less = {other: value for other, value in kept.items() if other != name}
        if error(less) <= EXACT:
            kept = less
    return list(kept)


def agreeing(errors: Mapping[str, float]) -> list[str]:
    return [name for name, error in errors.items() if error <= EXACT]


def evened(tensor: Tensor) -> float:
    """One number for a whole tensor that keeps its outputs about as large as they are."""
    inputs = tensor.size / tensor.shape[0] if tensor.shape else 1.0
    return tensor.center + tensor.scale / math.sqrt(3 * inputs)
